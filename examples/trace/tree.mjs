/** Spans and events as a tree of lines, by the time they began. */

/** @param spans each with the `process` that reported it; @param events `{ at, text }` */
export function treeOf(spans, events) {
  const root = spans.find(({ parentId }) => parentId === null)
  const rows = [
    ...spans.map((span) => ({ at: span.startedAt, columns: columnsOf(span, root) })),
    ...events.map(({ at, text }) => ({ at, columns: [text] })),
  ].sort((a, b) => a.at - b.at)
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map(({ columns }) => (columns[i + 1] ? columns[i].length : 0))))
  return rows.map(({ at, columns }) => {
    const seconds = ((at - root.startedAt) / 1_000).toFixed(3)
    const cells = columns.map((cell, i) => (i < columns.length - 1 ? cell.padEnd(widths[i]) : cell))
    return `+${seconds} s  ${cells.join('  ')}`
  })
}

function columnsOf({ spanId, parentId, name, attributes, durationMs, process }, root) {
  const status = attributes['http.response.status_code']
  const resent = attributes['http.request.resend_count']
  const what = [name, status, resent && `resend ${resent}`].filter(Boolean).join(' ')
  // all attempts of a task are children of the span that was active at its call
  const branch = parentId === root.spanId ? '└─ ' : parentId === null ? '' : '?  '
  return [branch + what, `span ${spanId}`, `process ${process}`, `${durationMs.toFixed(0).padStart(3)} ms`]
}
