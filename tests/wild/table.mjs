// The table of tests/wild/results.md, which docs/wild.md sums up. A run of a few rows replaces their lines alone.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from '../../scripts/lib/paths.mjs'

const page = at('tests', 'wild', 'results.md')
const block = /(<!-- wild -->\n)([\s\S]*?)(<!-- \/wild -->)/
const head = ['server', 'case', 'it sends', 'redrive', 'right', 'guess', 'last run']

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
const cellsOf = (text) => text.slice(2, -2).split(/(?<!\\) \| /)

const guessOf = ({ guess, guessed }) => {
  if (guess === undefined) return ''
  const { status, headers } = guess
  return guessed ? 'right' : `wrong: ${[status || 'no answer', ...headers.map((name) => `\`${name}\``)].join(', ')}`
}

const measuredLine = (day) => (result) => {
  const { row, version, sends, did, right } = result
  return line([`${row} ${version}`, result.case, sends, did, right, guessOf(result), day])
}

/** What all lines come to. */
function summary(lines) {
  const all = lines.map(cellsOf)
  const guesses = all.map((cells) => cells[5]).filter((guess) => guess !== '')
  const wrong = guesses.filter((guess) => guess !== 'right').length
  return `${all.length} cases, ${all.filter((cells) => cells[4] !== 'yes').length} not right. ${guesses.length} guesses, ${wrong} wrong.`
}

/** @param {readonly string[]} order the names of all rows */
export function writeTable(order, results, failed) {
  const day = new Date().toISOString().slice(0, 10)
  const text = readFileSync(page, 'utf8')
  const old = (block.exec(text)?.[2] ?? '').split('\n').filter((each) => each.startsWith('| '))
  const isOf = (name) => (each) => new RegExp(`^\\| ${RegExp.escape(name)} (?:[\\d.]+|unknown) \\|`).test(each)
  const lines = order.flatMap((name) => {
    if (failed.some(({ row }) => row === name))
      return [line([`${name} unknown`, 'all', '', '', 'not measured', '', day])]
    const measured = results.filter(({ row }) => row === name)
    return measured.length > 0 ? measured.map(measuredLine(day)) : old.filter(isOf(name))
  })
  const rule = `|${'---|'.repeat(head.length)}`
  const written = ['', summary(lines), '', line(head), rule, ...lines, '', ''].join('\n')
  writeFileSync(
    page,
    text.replace(block, (_, begin, __, end) => `${begin}${written}${end}`),
  )
}
