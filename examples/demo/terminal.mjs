/**
 * Draws a board in a terminal: a skyline, one column per call, one brick per attempt, redrawn in place. Where that is
 * not possible (no TTY, a dumb terminal) it prints a line now and then.
 */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 }
/** The shapes differ as much as the colours do: colour may be off, or invisible to the reader. One shape a brick wide, one half of it. */
const shapes = {
  done: { wide: '▇▇', slim: '▇', style: 'green', label: 'done' },
  flying: { wide: '◖◗', slim: '◆', style: 'cyan', label: 'in flight' },
  waiting: { wide: '╶╴', slim: '╴', style: 'yellow', label: 'waiting' },
  failed: { wide: '▒▒', slim: '▒', style: 'yellow', label: 'failed' },
  lost: { wide: '░░', slim: '░', style: 'magenta', label: 'no answer' },
  dead: { wide: '><', slim: '✕', style: 'red', label: 'dead' },
  planned: { wide: '··', slim: '·', style: 'dim' },
  nothing: { wide: '  ', slim: ' ' },
}
const legend = Object.values(shapes).filter(({ label }) => label !== undefined)
/** From roomy to tight; the first that fits the screen is taken. `tall`: whole piles, else only the topmost brick. */
const layouts = [
  { shape: 'wide', gap: ' ', tall: true },
  { shape: 'slim', gap: ' ', tall: true },
  { shape: 'slim', gap: '', tall: true },
  { shape: 'slim', gap: '', tall: false },
]
const margin = '  '

/** @returns the painter: text in, text with SGR codes out, or the text as it is. */
export function painter(colourful) {
  return (text, ...styles) =>
    colourful && styles.length > 0 ? `\x1b[${styles.map((style) => codes[style]).join(';')}m${text}\x1b[0m` : text
}

/** One picture, as lines that fit `columns` and `rows`. */
export function frame(board, { columns, rows, elapsedMs, pauseMs = 0, notes = [], paint }) {
  const width = Math.max(12, columns - 2 * margin.length)
  const counts = board.counts()
  const said = notes.flatMap(({ text, style }) => wrapText(text, width).map((line) => paint(line, style)))
  const key = wrap(
    legend.map((shape) => named(shape, paint)),
    width,
  )
  const numbers = wrap(counters(counts, elapsedMs, pauseMs, paint), width)
  const parts = (...blocks) => blocks.filter((lines) => lines.length > 0).flatMap((lines) => ['', ...lines])
  const pictures = layouts.map((layout) =>
    skyline(board.calls, { ...layout, width, levels: Math.max(3, counts.bricks + 1), paint }),
  )
  // on a small screen the picture and the numbers come first
  const fitting = [parts(said, numbers, key), parts(said, numbers), parts(numbers)].flatMap((below) =>
    pictures.map((lines) => [...lines, ...below]).filter((lines) => lines.length < rows),
  )
  const lines = fitting[0] ?? [...pictures.at(-1), ...parts(numbers)]
  return lines.map((line) => (line === '' ? '' : margin + line))
}

/** The piles side by side, in as many bands of equal length as the width makes necessary. */
function skyline(calls, { shape, gap, tall, width, levels, paint }) {
  const most = Math.floor((width + gap.length) / (shapes.done[shape].length + gap.length))
  const bands = Math.ceil(calls.length / most)
  const length = Math.ceil(calls.length / bands)
  const lines = []
  for (let band = 0; band < bands; band += 1) {
    const piles = calls.slice(band * length, (band + 1) * length)
    if (tall && band > 0) lines.push('')
    if (tall)
      for (let level = levels - 1; level >= 0; level -= 1)
        lines.push(
          row(
            piles.map((call) => cell(call, level)),
            shape,
            gap,
            paint,
          ),
        )
    else
      lines.push(
        row(
          piles.map((call) => cell(call, top(call))),
          shape,
          gap,
          paint,
        ),
      )
  }
  return lines
}

function top({ bricks, state }) {
  return state === 'waiting' ? bricks.length : Math.max(0, bricks.length - 1)
}

function cell({ bricks, state }, level) {
  if (level < bricks.length) return shapes[bricks[level]]
  const next = level === bricks.length && (state === 'waiting' || state === 'planned')
  return next ? shapes[state] : shapes.nothing
}

/** Neighbours of one style share one code: a frame is short enough to be written at once. */
function row(cells, shape, gap, paint) {
  let line = ''
  for (let at = 0; at < cells.length; ) {
    const { style } = cells[at]
    let text = ''
    for (; at < cells.length && cells[at].style === style; at += 1) text += cells[at][shape] + gap
    line += style ? paint(text, style) : text
  }
  return line
}

function counters({ planned: toCome, waiting: held, flying, done, dead }, elapsedMs, pauseMs, paint) {
  const item = (label, value, style) => {
    const styles = value > 0 && style ? ['bold', style] : ['bold']
    return [`${label} ${value}`, `${label} ${paint(String(value), ...styles)}`]
  }
  const remark = (text, style) => [text, paint(text, style)]
  const items = [
    item('waiting', held, 'yellow'),
    item('in flight', flying, 'cyan'),
    item('done', done, 'green'),
    item('dead', dead, 'red'),
    remark(`${seconds(elapsedMs)} s`, 'dim'),
  ]
  if (toCome > 0) items.unshift(item('to come', toCome))
  if (pauseMs > 0) items.push(remark(`server: wait ${seconds(pauseMs)} s`, 'yellow'))
  return items
}

const seconds = (ms) => (ms / 1000).toFixed(1)

function named({ slim, style, label }, paint) {
  return [`${slim} ${label}`, `${paint(slim, style)} ${paint(label, 'dim')}`]
}

/** Prose in lines of `width`; a word that is longer is broken. */
export function wrapText(text, width) {
  const lines = ['']
  const words = text.split(' ').flatMap((word) => piecesOf(word, width))
  for (const word of words) {
    const line = lines.at(-1)
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] += ` ${word}`
    else lines.push(word)
  }
  return lines
}

/** Items as [plain, painted], three spaces apart, in as many lines as the width needs. */
function wrap(items, width) {
  const lines = []
  let length = Number.POSITIVE_INFINITY
  for (const [plain, painted] of items) {
    if (length + 3 + plain.length > width) {
      lines.push(painted)
      length = plain.length
    } else {
      lines[lines.length - 1] += `   ${painted}`
      length += 3 + plain.length
    }
  }
  return lines
}

/** Keeps a picture of the board on the screen until `stop`; `note` adds a line to it that stays. */
export function show(board, { stream, paint, live, pauseLeft }) {
  const startedAt = Date.now()
  return live ? redraw(board, stream, paint, startedAt, pauseLeft) : narrate(board, stream, startedAt)
}

function redraw(board, stream, paint, startedAt, pauseLeft) {
  const notes = []
  let drawn = 0
  const draw = () => {
    const { columns = 80, rows = 24 } = stream
    const lines = frame(board, { columns, rows, elapsedMs: Date.now() - startedAt, pauseMs: pauseLeft(), notes, paint })
    const up = drawn > 0 ? `\x1b[${drawn}A` : ''
    stream.write(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
    drawn = lines.length
  }
  // A terminal that has become narrower has broken our lines: start afresh below them.
  const restart = () => {
    drawn = 0
    stream.write('\x1b[2J\x1b[H')
    draw()
  }
  const showCursor = () => stream.write('\x1b[?25h')
  const interrupted = () => process.exit(130)
  stream.write('\x1b[?25l')
  process.once('exit', showCursor)
  process.once('SIGINT', interrupted)
  stream.on('resize', restart)
  draw()
  const timer = setInterval(draw, 80)
  const note = (text, style) => {
    notes.push({ text, style })
    draw()
  }
  const stop = () => {
    clearInterval(timer)
    stream.off('resize', restart)
    process.off('exit', showCursor)
    process.off('SIGINT', interrupted)
    draw()
    showCursor()
  }
  return { note, stop }
}

function narrate(board, stream, startedAt) {
  let last = ''
  const write = (text) => stream.write(`${seconds(Date.now() - startedAt).padStart(5)} s  ${text}\n`)
  const say = () => {
    const { planned: toCome, waiting: held, flying, done, dead, attempts } = board.counts()
    const text = `to come ${toCome}, waiting ${held}, in flight ${flying}, done ${done}, dead ${dead}, attempts ${attempts}`
    if (text !== last) write(text)
    last = text
  }
  const timer = setInterval(say, 1_000)
  const stop = () => {
    clearInterval(timer)
    say()
  }
  return { note: write, stop }
}

/** A word in pieces of `width` at most; '' is one. */
function piecesOf(word, width) {
  const letters = [...word]
  const count = Math.max(1, Math.ceil(letters.length / width))
  return Array.from({ length: count }, (_, i) => letters.slice(i * width, (i + 1) * width).join(''))
}
