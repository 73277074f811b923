/** The name that was meant by one that there is not. */

/** `did you mean X?` where one of `names` is close to `given`, else all of them if they are few. `program`: its help lists them. */
export function suggestion(given: string, names: readonly string[], prefix = '', program = 'redrive'): string {
  const best = nearest(given, names)
  if (best !== undefined) return `did you mean ${prefix}${best}?`
  return names.length <= 10
    ? `there are ${names.map((name) => prefix + name).join(', ')}`
    : `${program} --help lists them`
}

/** undefined: none is so close that a slip of the hand would explain it. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const word = given.toLowerCase().slice(0, 80)
  let best: string | undefined
  // a third of a word may be wrong, and of a short one a letter
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const name of names) {
    const candidate = name.toLowerCase()
    // a word that was left out or cut short is no typing error, and is found by what is there
    const isPart = word.length >= 3 && (candidate.startsWith(word) || candidate.endsWith(`-${word}`))
    const distance = isPart ? 1 : edits(word, candidate)
    if (distance < least) {
      least = distance
      best = name
    }
  }
  return best
}

/** Letters that are to be put in, taken out, replaced, or swapped with their neighbour. */
function edits(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1]
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
