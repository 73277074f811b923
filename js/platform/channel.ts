/** A channel to the other tabs. Later versions may say more on it, and other code of the site anything. */

/** Throws where there are none, or storage is forbidden. */
export function openChannel(name: string, hear: (data: unknown) => void): BroadcastChannel {
  const channel: BroadcastChannel & { unref?(): void } = new BroadcastChannel(name)
  channel.onmessage = ({ data }) => hear(data)
  // Node, which has them too, would wait for it to be closed: a test runner gives Node's to the pages that it puts together
  channel.unref?.()
  return channel
}
