/** What this process has started ends with it; what lies in folders would be left, where Ctrl-C ends all at once. */

/** Calls `tidy` when this process ends, by a signal too; the returned function stops that. */
export function tidyAtExit(tidy) {
  const interrupted = () => process.exit(130)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  process.once('exit', tidy)
  for (const signal of signals) process.once(signal, interrupted)
  return () => {
    process.off('exit', tidy)
    for (const signal of signals) process.off(signal, interrupted)
  }
}
