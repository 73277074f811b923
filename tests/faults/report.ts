/** Says in plain words what a run did, and what must hold of it. */

import type { Check } from './checks.ts'

const WIDTH = 54

export function report(
  figures: readonly (readonly [string, number | string, string])[],
  checks: readonly Check[],
): string {
  const lines = ['', 'What happened', rule]
  for (const [label, value, remark] of figures) lines.push(row(label, String(value), remark))
  lines.push('', 'What must hold', rule)
  for (const { label, found, wanted, ok, offenders } of checks) {
    lines.push(`${ok ? '✓' : '✗'} ${row(label, found, wanted, WIDTH - 2)}`)
    if (!ok) lines.push(...offenders.slice(0, SHOWN).map((each) => `    ${each}`))
    if (!ok && offenders.length > SHOWN) lines.push(`    and ${offenders.length - SHOWN} more`)
  }
  const broken = checks.filter(({ ok }) => !ok)
  lines.push(
    '',
    broken.length === 0 ? 'All of it holds.' : `Broken: ${broken.map(({ label }) => label).join(', ')}.`,
    '',
  )
  return lines.join('\n')
}

const SHOWN = 5
const rule = '─'.repeat(72)
const row = (label: string, value: string, remark: string, width = WIDTH): string =>
  `${label.padEnd(width - 12)}${value.padStart(12)}   ${remark}`.trimEnd()
