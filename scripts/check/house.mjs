// Draws docs/house.svg, the picture of js/ in ARCHITECTURE.md, from the imports as they are written: a box for each folder
// in the order of layers, a number for each arrow between two. `npm run check -- --write` draws it. `npm run check` fails
// where a folder or an arrow has come or gone since; numbers of imports, files and lines may be older than the code,
// since every commit changes some of them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { palette } from '../lib/plot.mjs'
import { StepError } from '../lib/steps.mjs'
import { typescriptGraph, typescriptOrder } from './typescript-modules.mjs'

const picture = at('docs', 'house.svg')

const STEP = 21 // from column to column
const ROW = 33 // from row to row
const BOX = 15
const LEFT = 14
const TOP = 16
/** Room for the words of a folder, right of its box. */
const LABEL = 130

const folderOf = (module) => (module.includes('/') ? module.slice(0, module.indexOf('/')) : 'entries')
const spaced = (number) => number.toLocaleString('en')

/**
 * The folders, the last layer first, and how many imports go from one to another.
 * @param {ReadonlyMap<string, ReadonlySet<string>>} graph
 * @param {readonly (readonly string[])[]} order
 * @param {(module: string) => number} linesOf
 */
export function houseOf(graph, order, linesOf) {
  const names = order.flat().reverse()
  const folders = names.map((name) => {
    const modules = [...graph.keys()].filter((module) => folderOf(module) === name)
    return { name, files: modules.length, lines: modules.reduce((sum, module) => sum + linesOf(module), 0) }
  })
  const arrows = new Map()
  for (const [module, used] of graph) {
    for (const other of used) {
      const [from, to] = [folderOf(module), folderOf(other)]
      if (from !== to) arrows.set(`${from} ${to}`, (arrows.get(`${from} ${to}`) ?? 0) + 1)
    }
  }
  return { folders, arrows }
}

const style = `
    ${palette}
    text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 11px } .name { font-weight: 600; font-size: 13.5px }
    .n { text-anchor: middle; font-size: 11px } .back { fill: var(--back) } .box { fill: var(--blue) }
    .wire { fill: none; stroke: var(--line) } .head { fill: var(--soft) } .wrong { fill: var(--orange); fill-opacity: .5 }
    .cell { fill: var(--blue) } .a { fill-opacity: .12 } .b { fill-opacity: .22 } .c { fill-opacity: .36 }`

const strength = (count) => (count < 5 ? 'a' : count < 20 ? 'b' : 'c')

/** Every row is a folder. Its box stands right of the cells of its imports, and every column ends on the box it is of. */
export function draw({ folders, arrows }) {
  const index = new Map(folders.map(({ name }, row) => [name, row]))
  const width = LEFT + folders.length * STEP + LABEL
  const x = (row) => LEFT + (folders.length - 1 - row) * STEP + STEP / 2
  const y = (row) => TOP + row * ROW + ROW / 2
  const cells = [...arrows].map(([key, count]) => {
    const [from, to] = key.split(' ').map((name) => index.get(name))
    return { key, count, from, to }
  })
  const wires = folders.flatMap((_, row) => {
    const above = Math.min(...cells.filter(({ from, to }) => to === row && from < row).map(({ from }) => from))
    const left = Math.max(...cells.filter(({ from, to }) => from === row && to > row).map(({ to }) => to))
    const down = `<path class="wire" d="M${x(row)} ${y(above)}V${y(row) - BOX / 2 - 5}"/>`
    const [headX, headY] = [x(row), y(row) - BOX / 2 - 1]
    const head = `<path class="head" d="M${headX - 3.5} ${headY - 6}h7l-3.5 6z"/>`
    return [
      ...(Number.isFinite(above) ? [down, head] : []),
      ...(Number.isFinite(left) ? [`<path class="wire" d="M${x(row)} ${y(row)}H${x(left)}"/>`] : []),
    ]
  })
  const numbers = cells.map(({ key, count, from, to }) => {
    const [cx, cy] = [x(to), y(from)]
    const kind = from < to ? `cell ${strength(count)}` : 'wrong'
    const rect = (name) => `<rect class="${name}" x="${cx - 9.5}" y="${cy - 8.5}" width="19" height="17" rx="4"/>`
    return `<g data-arrow="${key}">${rect('back')}${rect(kind)}<text class="n" x="${cx}" y="${cy + 4}">${count}</text></g>`
  })
  const boxes = folders.map(({ name, files, lines }, row) => {
    const [cx, cy] = [x(row), y(row)]
    const box = `<rect class="box" x="${cx - BOX / 2}" y="${cy - BOX / 2}" width="${BOX}" height="${BOX}" rx="4"/>`
    const words = `${files} ${files === 1 ? 'file' : 'files'}, ${spaced(lines)} lines`
    const label = `<text class="name" x="${cx + 14}" y="${cy}">${name}</text>`
    return `<g data-folder="${name}">${box}${label}<text class="soft" x="${cx + 14}" y="${cy + 13}">${words}</text></g>`
  })
  const bottom = TOP + folders.length * ROW
  const wrong = cells.filter(({ from, to }) => from > to).length
  const end = wrong === 0 ? 'All arrows point down.' : `Arrows that point up: ${wrong}.`
  const legend = ['A number counts imports', "from its row's folder to the one", 'its column ends on.', end]
  const notes = legend.map(
    (line, at) => `<text class="soft" x="${width - 14}" y="${bottom - 66 + at * 16}" text-anchor="end">${line}</text>`,
  )
  const height = bottom + 12
  const list = folders.map(({ name }) => name).join(', ')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width * 1.25}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif">
<title id="t">The folders of js/ and their imports</title>
<desc id="d">From the last layer to the first: ${list}. Every import goes from a folder to one further down.</desc>
<style>${style}
</style>
<rect class="back" width="${width}" height="${height}" rx="10"/>
${[...wires, ...numbers, ...boxes, ...notes].join('\n')}
</svg>
`
}

/** The folders and arrows that a picture shows, without its numbers. */
export function structureOf(svg) {
  const all = (name) => [...svg.matchAll(new RegExp(`data-${name}="([^"]+)"`, 'g'))].map(([, value]) => value)
  return { folders: all('folder'), arrows: all('arrow').sort() }
}

/** The folders and arrows that the picture `svg` lacks, or shows without need; empty: it is up to date. */
export function stale(svg, house) {
  const [shown, real] = [structureOf(svg), structureOf(draw(house))]
  const gone = shown.arrows.filter((arrow) => !real.arrows.includes(arrow))
  const come = real.arrows.filter((arrow) => !shown.arrows.includes(arrow))
  const moved = shown.folders.join(' ') === real.folders.join(' ') ? [] : [`folders: ${real.folders.join(', ')}`]
  return [...moved, ...gone.map((arrow) => `gone: ${arrow}`), ...come.map((arrow) => `new: ${arrow}`)]
}

export function checkHouse() {
  const linesOf = (module) =>
    readFileSync(at('js', `${module}.ts`), 'utf8')
      .trimEnd()
      .split('\n').length
  const house = houseOf(typescriptGraph(), typescriptOrder, linesOf)
  if (process.argv.includes('--write')) return writeFileSync(picture, draw(house))
  const differences = stale(existsSync(picture) ? readFileSync(picture, 'utf8') : '', house)
  if (differences.length === 0) return
  throw new StepError(`docs/house.svg shows another house; run: npm run check -- --write\n${differences.join('\n')}`)
}
