/**
 * A turn of the event loop, in which a page may answer its user. A message, since timers wait a second in a hidden tab, and tests fake
 * them; undefined where there are no messages, as in Jest's jsdom.
 */
export function nextTurn(): Promise<void> | undefined {
  if (!globalThis.MessageChannel) return undefined
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      port2.close() // Deno counts each
      resolve()
    }
    port2.postMessage(0)
  })
}
