// What it costs to keep tasks in a browser, beside whoever else keeps requests there: keeping them, finding what to do
// first when a page is opened on many, a turn beside many, and bytes on the disk. A real Chromium, on a profile on the
// disk; each contestant has an origin of its own, and with it files of its own.
import { bytesOnDisk, inProfile, newProfile } from './lib/indexeddb/profile.mjs'
import { BODY_BYTES } from './lib/indexeddb/requests.mjs'
import { median, quantile, takeTurns } from './lib/measure.mjs'
import { bundle, servePage } from './lib/page.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const WAITING = orLess(process.argv.includes('--full') ? 100_000 : 10_000, 200)
const waiting = WAITING.toLocaleString('en-US')
/** It asks for 'relaxed', and takes no option. */
const WORKBOX = 'workbox pushRequest, in a page'
const RAW = { true: 'raw IndexedDB', false: 'raw IndexedDB, relaxed' }

const worker = await bundle("import './indexeddb/worker.mjs'")
const server = await servePage(await bundle("import './indexeddb/page.mjs'"), { '/worker.js': worker })
/** Names as people read them make no host names. */
const originOf = (name) => server.at(name.toLowerCase().replace(/\W+/g, '-'))

const { version, peers, ways } = await inProfile(newProfile(), async (open, version) => {
  const page = await open(server.url)
  return { version, peers: await page.evaluate(() => bench.peers()), ways: await page.evaluate(() => bench.ways()) }
})
console.log(`Chromium ${version}, each request ${BODY_BYTES.toLocaleString('en-US')} bytes of JSON\n`)
await measureKeeping()
const profile = newProfile()
await fillAll()
await measureTakeUp()
await measureTurns()
measureBytes()
server.close()

/** Lets `work` use a page for each name, in front while it is its turn. */
async function inPages(folder, names, work) {
  return await inProfile(folder, async (open) => {
    const pages = {}
    for (const name of names) pages[name] = await open(originOf(name))
    return work(
      Object.fromEntries(
        names.map((name) => [
          name,
          async (run, given) => {
            await pages[name].bringToFront()
            return pages[name].evaluate(run, given)
          },
        ]),
      ),
    )
  })
}

async function measureKeeping() {
  // turns so short that a busy spell of the disk does not fall on one of them
  const SINGLES = { count: orLess(10, 2), rounds: 41, warmUp: 5 }
  const AT_ONCE = { count: orLess(100, 4), rounds: 15, warmUp: 2 }
  const perSecond = (pages, { count }, atOnce) =>
    Object.fromEntries(
      peers
        .filter(({ onlyLists }) => atOnce || !onlyLists)
        .map(({ name }) => [
          name,
          async () => {
            const keep = ([name, count, atOnce]) => bench.keep(name, count, atOnce)
            return (count * 1_000) / (await pages[name](keep, [name, count, atOnce]))
          },
        ]),
    )
  const names = peers.map(({ name }) => name)
  const [singles, batches] = await inPages(newProfile(), names, async (pages) => [
    await takeTurns(perSecond(pages, SINGLES, false), SINGLES),
    await takeTurns(perSecond(pages, AT_ONCE, true), AT_ONCE),
  ])
  table(
    [
      'kept a second',
      'waits for the disk',
      'one by one',
      'of Workbox',
      'of raw like it',
      `${AT_ONCE.count} at once`,
      'of Workbox',
      'of raw like it',
    ],
    peers.map(({ name, strict }) => [
      name,
      strict ? 'yes' : 'no',
      figure(singles[name]),
      times(singles[name] / singles[WORKBOX]),
      times(singles[name] / singles[RAW[strict]]),
      figure(batches[name]),
      times(batches[name] / batches[WORKBOX]),
      times(batches[name] / batches[RAW[strict]]),
    ]),
  )
  for (const name of ['redrive, queue, relaxed', 'redrive, store, relaxed']) {
    const [one, many] = [singles[name] / singles[WORKBOX], batches[name] / batches[WORKBOX]]
    aim(`${name}: one by one at least 1.3x Workbox`, one >= 1.3, times(one))
    aim(`${name}: 100 at once at least 5x Workbox`, many >= 5, times(many))
  }
  for (const name of ['redrive, store', 'redrive, store, as a list']) {
    aim(`${name}: at least 4,000 a second, 100 at once`, batches[name] >= 4_000, figure(batches[name]))
  }
  note(
    `medians of ${SINGLES.rounds} turns of ${SINGLES.count} requests, each awaited, and of ${AT_ONCE.rounds} of ${AT_ONCE.count} together.`,
  )
  note('Workbox, localforage and idb do not wait for the disk: to be compared with what is relaxed.')
  note('Dexie, idb and raw IndexedDB have one transaction for all that is at once, the other peers one for each.\n')
}

async function fillAll() {
  const filling = ways.filter(({ fills }) => fills)
  for (const { name, origin } of filling) {
    await inProfile(profile, async (open) => {
      const page = await open(server.at(origin))
      await page.evaluate(([name, count]) => bench.fill(name, count), [name, WAITING])
    })
  }
}

async function measureTakeUp() {
  const RUNS = orLess(5)
  const figures = Object.fromEntries(ways.map(({ name }) => [name, { started: [], reloaded: [] }]))
  const failures = new Set()
  for (let run = 0; run < RUNS; run++) {
    // each is a start of the browser
    for (const { name, origin } of ways.slice(0, orLess(ways.length, 2))) {
      await inProfile(profile, async (open) => {
        // so that nobody pays for the browser's first database of all
        await (await open(server.at('warm-up'))).evaluate(() => void indexedDB.open('warm-up'))
        for (const kind of ['started', 'reloaded']) {
          const page = await open(server.at(origin))
          const took = page.evaluate((name) => bench.takeUp(name), name)
          await took.then(
            (ms) => figures[name][kind].push(ms),
            ({ message }) => failures.add(`${name}: ${message.split('\n')[0]}`),
          )
          await page.close()
        }
      })
    }
  }
  table(
    [`${waiting} waiting, ms to the first`, 'browser just started', 'page reloaded'],
    ways.map(({ name }) => [name, figure(median(figures[name].started)), figure(median(figures[name].reloaded))]),
  )
  for (const failure of failures) note(failure)
  const { started, reloaded } = figures['redrive, store: open and claim']
  for (const [when, all] of [
    ['in a page of a browser that runs', reloaded],
    ['after the browser has started', started],
  ]) {
    const ms = median(all)
    aim(`first due task claimed within 20 ms of open, ${waiting} stored, ${when}`, ms <= 20, `${figure(ms)} ms`)
  }
  note(`medians of ${RUNS} starts of the browser, the page loaded; then the same in a page opened anew.\n`)
}

async function measureTurns() {
  const FEW = 100
  const ROUNDS = orLess(7, 2)
  const TURNS = orLess(20, 2)
  const few = server.at('few')
  const many = server.at('redrive')
  const took = { [few]: [], [many]: [] }
  await inProfile(profile, async (open) => {
    const pages = { [few]: await open(few), [many]: await open(many) }
    await pages[few].evaluate(([name, count]) => bench.fill(name, count), [ways[0].name, FEW])
    for (let round = 0; round < ROUNDS; round++) {
      for (const [url, page] of Object.entries(pages)) {
        await page.bringToFront()
        const ms = await page.evaluate((count) => bench.turns(count), TURNS)
        if (round > 0) took[url].push(...ms)
      }
    }
  })
  const p50 = (url) => quantile(took[url], 0.5)
  table(
    ['a turn that settles 3 and claims 3', 'p50 ms', 'p95 ms', `of ${FEW} waiting`],
    [few, many].map((url) => [
      `${url === few ? FEW : waiting} waiting`,
      figure(p50(url)),
      figure(quantile(took[url], 0.95)),
      times(p50(url) / p50(few)),
    ]),
  )
  note(`${(ROUNDS - 1) * TURNS} turns each.\n`)
}

/** After what the measurements before it did to the files. */
function measureBytes() {
  const rows = ways.filter(({ fills }) => fills)
  const bytes = Object.fromEntries(
    rows.map(({ origin }) => [origin, bytesOnDisk(profile, server.at(origin)) / WAITING]),
  )
  table(
    ['bytes on the disk for each that waits', '', 'of Workbox'],
    rows.map(({ origin }) => [origin, figure(bytes[origin]), times(bytes[origin] / bytes.workbox)]),
  )
  note(`of ${waiting}, after the browser has ended; the body is ${BODY_BYTES.toLocaleString('en-US')} of them.`)
}
