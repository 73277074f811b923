/** The stored tasks of this process: the store they are in, and those of them that are here. */

/** The origin of a lane, which its name begins with. */
export function originOf(lane: string): string {
  return lane.split(' ', 1)[0] as string
}
