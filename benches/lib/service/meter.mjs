// The other end of `Program`. It is loaded before a program (`--import`), which need not know of it: it says what the process has used,
// and ends it with its parent.

const calls = {
  usage() {
    const { user, system } = process.cpuUsage()
    return { cpuMicros: user + system, rssBytes: process.memoryUsage.rss() }
  },
}
/** Asked before the program could answer. */
const early = []

process.on('message', hear)
process.on('disconnect', () => process.exit(0))
// the program alone decides how long it lives
process.channel?.unref()

/** A program that answers more calls than that: `more` are functions by name. It lives as long as its parent. */
export function answer(more) {
  Object.assign(calls, more)
  process.channel?.ref()
  for (const message of early.splice(0)) hear(message)
}

async function hear(message) {
  const { asks, call, args } = message
  if (!(call in calls)) return void early.push(message)
  const reply = await Promise.try(calls[call], ...args).then(
    (value) => ({ asks, value }),
    (error) => ({ asks, error: error.stack }),
  )
  process.send?.(reply, () => {})
}
