// `npm run wild -- [words]`: real servers and libraries on the loopback, each asked by plain HTTP and then by a queue with its defaults; the
// table of tests/wild/results.md is what came of it. `words`: the rows with one of them in their name; all others stay as they are.
import { main, StepError, step, tell } from '../../scripts/lib/steps.mjs'
import { cases, shown, tellingHeaders } from './cases.mjs'
import gateways from './rows/gateways.mjs'
import keysNode from './rows/keys-node.mjs'
import keysPython from './rows/keys-python.mjs'
import limits from './rows/limits.mjs'
import own from './rows/own.mjs'
import { install, start } from './start.mjs'
import { writeTable } from './table.mjs'

const rows = [...keysNode, ...keysPython, ...limits, ...gateways, ...own]

const isAsGuessed = ({ status, headers }, seen) =>
  status === seen.status && headers.join() === Object.keys(tellingHeaders(seen.headers)).sort().join()

async function runRow(row, results) {
  const { folder, version } = await install(row)
  for (const name of row.cases) {
    await step(`  ${row.name} ${version}: ${name}`, async () => {
      // anew for each case, so that none sees the bans and the keys of another
      const server = await start(row, folder)
      try {
        const { seen, note = '', did, wrong } = await cases[name](server, row)
        const guess = row.guesses?.[name]
        const sends = [shown(seen), note].filter(Boolean).join('; ')
        results.push({
          row: row.name,
          version,
          case: name,
          sends,
          did,
          right: wrong.join('; ') || 'yes',
          guess,
          guessed: guess && isAsGuessed(guess, seen),
        })
        return `${sends} | ${did} | ${wrong.length > 0 ? `WRONG: ${wrong.join('; ')}` : 'right'}`
      } finally {
        await server.close()
      }
    })
  }
}

await main(async () => {
  const words = process.argv.slice(2).map((word) => word.toLowerCase())
  const isChosen = ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word))
  const chosen = rows.filter(isChosen)
  if (chosen.length === 0) throw new StepError(`no row has '${words.join("' or '")}' in its name`)
  const results = []
  const failed = []
  for (const [index, row] of chosen.entries()) {
    tell(`${index + 1} of ${chosen.length}: ${row.name}`)
    await runRow(row, results).catch((error) => failed.push({ row: row.name, reason: error.message }))
  }
  for (const { row, reason } of failed) tell(`\n--- ${row} was not measured\n${reason}`)
  writeTable(
    rows.map(({ name }) => name),
    results,
    failed,
  )
  const wrong = results.filter(({ right }) => right !== 'yes')
  const guesses = results.filter(({ guess }) => guess !== undefined)
  tell(
    `\n${results.length} cases, ${wrong.length} not right; ${failed.length} rows not measured; ` +
      `${guesses.length} guesses, ${guesses.filter(({ guessed }) => !guessed).length} wrong`,
  )
  if (wrong.length + failed.length > 0) process.exitCode = 1
})
