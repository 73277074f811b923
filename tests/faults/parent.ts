/** The process that started this one: told things, and gone at any moment. */

/** Sends `told` to the parent. Where the parent has gone, or goes while this is sent, no process is left to hear it or its failure. */
export function tellParent(told: object): void {
  if (process.connected) process.send?.(told, () => {})
}

/** Calls `close` once the parent has gone, which may have been before this process could listen. */
export function whenParentGoes(close: () => void): void {
  if (process.connected) process.once('disconnect', close)
  else close()
}
