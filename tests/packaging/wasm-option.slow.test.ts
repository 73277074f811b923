// The module from where the user wants it: `redrive/redrive.wasm`, handed over in each shape that `options.wasm` takes,
// from the tarball, in Node and in a page.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { runPage } from './browser.ts'
import { esbuilt } from './builds.ts'
import { consumer, expected, inPage, pageOf, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { unpacked } from './pack.ts'

/** Expressions over `read`, which gives the module's bytes. */
const SHAPES: Readonly<Record<string, string>> = {
  'a Module': 'await WebAssembly.compile(await read())',
  'an ArrayBuffer': 'new Uint8Array(await read()).buffer',
  'a view of bytes': 'new Uint8Array(await read())',
  'a Response': "new Response(await read(), { headers: { 'content-type': 'application/wasm' } })",
  'a promise of bytes': 'read()',
  'a promise of a Response': 'read().then((bytes) => new Response(bytes))',
  'a function giving a promise': 'read',
  'a function giving a Module': 'async () => WebAssembly.compile(await read())',
}

/** Expressions that are no module, and the word by which `degraded` names them. */
const WRONG: Readonly<Record<string, readonly [given: string, named: string]>> = {
  'a path': ["'./redrive.wasm'", 'got string'],
  'a page where the module was to be': ["new TextEncoder().encode('<!doctype html>')", 'magic'],
  'the module of keys': ["read('redrive-keys.wasm')", 'expected the redrive.wasm of this version'],
  'a function that throws': ["() => { throw new Error('not found') }", 'not found'],
}

const withMessages = program.replace('({ code }) => degraded.push(code)', '(told) => degraded.push(told)')
const queueWith = (code: string, given: string, read: string) =>
  code
    .replace('export async function', `${read}\nexport async function`)
    .replace('new RetryQueue({', () => `new RetryQueue({ wasm: ${given},`)

const readInNode = `
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
const read = (name = 'redrive.wasm') => readFile(fileURLToPath(import.meta.resolve('redrive/' + name)))`
const readInPage = "const read = async (name = 'redrive.wasm') => (await fetch('/' + name)).arrayBuffer()"

async function inNode(code: string): Promise<unknown> {
  await using server = await flakyServer()
  using project = consumer({
    'queue.mjs': code,
    'main.mjs': `import { main } from './queue.mjs'\nconsole.log(JSON.stringify(await main(process.argv[2])))`,
  })
  return await project.node('main.mjs', `${server.origin}/api/given`)
}

const browser = duringTests(() => launch())

async function inAPage(code: string): Promise<unknown> {
  using project = consumer({ 'dist/index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': code })
  await esbuilt(project, { splitting: false })
  for (const name of ['redrive.wasm', 'redrive-keys.wasm']) {
    cpSync(join(unpacked, name), join(project.folder, 'dist', name))
  }
  await using server = await flakyServer(join(project.folder, 'dist'))
  const { answer } = await runPage(browser, `${server.origin}/?api=/api/given`)
  return answer
}

const places: ReadonlyArray<readonly [name: string, run: (code: string) => Promise<unknown>, read: string]> = [
  ['Node', inNode, readInNode],
  ['a page', inAPage, readInPage],
]
for (const [place, run, read] of places) {
  test.each(Object.entries(SHAPES))(`in ${place} the core runs from %s`, async (_, given) => {
    expect(await run(queueWith(program, given, read))).toEqual(expected)
  })

  test.each(Object.entries(WRONG))(`in ${place} %s is named, and calls are plain fetch`, async (_, [given, named]) => {
    expect(await run(queueWith(withMessages, given, read))).toMatchObject({
      status: 503,
      degraded: [{ code: 'wasm_refused', message: expect.stringMatching(new RegExp(`options\\.wasm.*${named}`)) }],
    })
  })
}

test('without the core, enqueue rejects with an error that names the option', async () => {
  const body = withMessages.replace(
    /const response[\s\S]*?degraded \}/,
    () => 'const answer = await queue.enqueue(url).catch(({ name, code, message }) => ({ name, code, message }))',
  )
  expect(await inNode(queueWith(body, '7', readInNode))).toMatchObject({
    name: 'WasmUnavailableError',
    code: 'WASM_UNAVAILABLE',
    message: expect.stringContaining('options.wasm'),
  })
})
