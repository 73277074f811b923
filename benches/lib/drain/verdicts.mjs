// Is redrive first? In every case, in everything that is measured; the aim is its best row beside everyone else's best.
import { figure } from '../table.mjs'

const ASKED = {
  seconds: { what: 'time until all are through', unit: 's', ofWhole: true },
  requests: { what: 'requests', unit: '', ofWhole: true },
  lost: { what: 'calls lost', unit: '' },
  p50: { what: 'p50', unit: 's', ofWhole: true },
  p99: { what: 'p99', unit: 's', ofWhole: true },
  megabytes: { what: 'memory', unit: 'MB' },
}
const isOurs = ({ name }) => name.startsWith('redrive')

/** Who has lost calls has not done the same work, and is first in none of what is asked of the whole. */
export function verdicts({ world, alike, rows }) {
  const least = (among, key) => among.reduce((best, row) => (best && best[key] <= row[key] ? best : row), undefined)
  return Object.entries(ASKED).flatMap(([key, { what, unit, ofWhole }]) => {
    const field = rows.filter(({ lost }) => !ofWhole || lost === 0)
    const ours = least(field.filter(isOurs), key)
    const best = least(
      field.filter((row) => !isOurs(row)),
      key,
    )
    if (!best || !rows.some(isOurs)) return []
    const tell = (row) => `${figure(row[key])}${unit && ` ${unit}`} (${row.name})`
    return {
      what: `first where the server ${world}, ${alike ? 'same' : 'own'} waits: ${what}`,
      reached: ours !== undefined && ours[key] <= best[key],
      said: `${ours ? tell(ours) : 'every row of redrive has lost calls'}; best of the others ${tell(best)}`,
    }
  })
}
