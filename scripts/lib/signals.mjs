// A program that starts another and waits for it: a signal that ends the first is meant for both.
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Passes on to `child` the signals that would end this process, which then lives until the child has ended.
 * @returns {() => boolean} stops that; true if one came
 */
export function passOn(child) {
  let came = false
  const handlers = SIGNALS.map((signal) => [
    signal,
    () => {
      came = true
      child.kill(signal)
    },
  ])
  for (const [signal, handler] of handlers) process.on(signal, handler)
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler)
    return came
  }
}
