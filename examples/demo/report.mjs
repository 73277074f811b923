/** Prints what the server saw, and what follows from it. */
import { wrapText } from './terminal.mjs'
import { figures } from './verdict.js'

const margin = '  '

/** `more`: figures besides. `story`: lines that stand at the end. */
export function printReport(report, verdict, { stream, paint, more = [], story = [] }) {
  const columns = Math.min((stream.columns ?? 80) - 2 * margin.length, 72)
  const lines = ['', paint('What the server saw', 'bold'), paint('─'.repeat(columns), 'dim')]
  for (const [label, value, remark] of [...figures(report), ...more])
    lines.push(row(label, String(value), remark, columns, paint))
  lines.push('', paint('What must hold', 'bold'), paint('─'.repeat(columns), 'dim'))
  for (const { label, found, ok, wanted } of verdict.checks) {
    const mark = ok ? paint('✓', 'green') : paint('✗', 'red')
    lines.push(`${mark} ${row(label, found, wanted, columns - 2, paint)}`)
  }
  lines.push(
    '',
    ...[...conclusion(report, verdict), ...story.map((text) => [text])].flatMap(([text, ...styles]) =>
      wrapText(text, columns).map((line) => paint(line, ...styles)),
    ),
    '',
  )
  stream.write(lines.map((line) => (line === '' ? '\n' : `${margin}${line}\n`)).join(''))
}

/** Label, number, remark; a remark that does not fit is left out, the number never is. */
function row(label, value, remark, columns, paint) {
  const labelWidth = Math.max(0, Math.min(32, columns - 8))
  const text = `${label.padEnd(labelWidth)}${value.padStart(8)}`
  return remark !== '' && text.length + 3 + remark.length <= columns ? `${text}   ${paint(remark, 'dim')}` : text
}

function conclusion({ intents, injected }, { ok, checks, offenders }) {
  if (ok) return [[`${intents} orders, ${intents} effects, ${injected.total} failures on the way.`, 'bold', 'green']]
  const failed = checks.filter((check) => !check.ok)
  return [
    ...failed.map(({ label, found, wanted }) => [`${label}: expected ${wanted}, got ${found}`, 'bold', 'red']),
    ...(offenders.length > 0
      ? [[`look at: ${offenders.slice(0, 8).join(', ')}${offenders.length > 8 ? ' ...' : ''}`]]
      : []),
  ]
}
