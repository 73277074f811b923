// What the figures of one outage come to.
const AS_FAST = 1.1

export function verdicts({ name, rows }) {
  const own = rows.find((row) => row.name === 'redrive')
  const others = rows.filter((row) => row !== own)
  const fewest = Math.min(...others.map(({ errors }) => errors))
  // only those who lose no more have a time to compare
  const best = Math.min(
    ...rows.filter(({ errors }) => errors <= Math.min(fewest, own.errors)).map(({ seconds }) => seconds),
  )
  const patient = rows.find((row) => row.name === 'p-retry + p-queue')
  return [
    {
      what: `${name}: first or level in errors`,
      reached: own.errors <= fewest,
      said: `${own.errors}, others ${fewest}`,
    },
    {
      what: `${name}: within ${AS_FAST}x of the best time`,
      reached: own.seconds <= AS_FAST * best,
      said: `${own.seconds.toFixed(1)} s, best ${best.toFixed(1)} s`,
    },
    {
      what: `${name}: at most half of p-retry's requests in vain`,
      reached: own.inVain <= patient.inVain / 2 || own.inVain <= 12,
      said: `${own.inVain}, p-retry ${patient.inVain}`,
    },
  ]
}
