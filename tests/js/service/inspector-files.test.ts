/** Which files `/ui` gives out: the page, and of a package what its `ui.js` loads. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readInspector } from '../../../js/service/inspector-files.ts'
import { createService } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { folder } from './program.ts'

const PAGE = ['', 'icon.svg', 'page.css']

test('ui.js and what it names beside itself, now or later, however far down; nothing else of the folder', () => {
  const path = folder({
    'ui.js':
      'import{a}from"./ui-ABCD1234.js";const lab=()=>import("./core.js");new Worker(new URL("./ui-worker.js",import.meta.url))',
    'ui-ABCD1234.js': 'export const a="../secret.js /etc/passwd ./none";import"./ui.js"',
    'core.js': 'import{g}from"./functions-g3k1xp1r.js"',
    'functions-g3k1xp1r.js': '',
    'ui-worker.js': '',
    'cli.js': 'import "./service.js"',
    'secret.js': '',
    'package.json': '{}',
  })
  const files = readInspector(path)
  const named = ['core.js', 'functions-g3k1xp1r.js', 'ui-ABCD1234.js', 'ui-worker.js', 'ui.js']
  expect([...files.keys()].sort()).toEqual([...PAGE, ...named].sort())
  expect([...files].filter(([, { isHashed }]) => isHashed).map(([name]) => name)).toEqual(
    expect.arrayContaining(['functions-g3k1xp1r.js', 'ui-ABCD1234.js']),
  )
  expect(files.get('ui-worker.js')?.isHashed).toBe(false)
})

test('equal bytes have one ETag, and others another', () => {
  const path = folder({ 'ui.js': 'one' })
  const tag = () => readInspector(path).get('ui.js')?.etag
  const before = tag()
  expect(tag()).toBe(before)
  writeFileSync(join(path, 'ui.js'), 'two')
  expect(tag()).not.toBe(before)
  expect(before).toMatch(/^"[\w-]{22}"$/)
})

test.each([
  [{}, 'ui.js'],
  [{ 'ui.js': 'import"./ui-ABCD1234.js"' }, 'ui-ABCD1234.js'],
])('of %j the file that is missing is named, and its folder', (files, missing) => {
  const path = folder(files)
  expect(() => readInspector(path)).toThrow(`ui: ${missing} is missing in ${path}`)
})

test('the page has no script and no style in itself, and only relative addresses', () => {
  const html = new TextDecoder().decode(readInspector(folder({ 'ui.js': '' })).get('')?.bytes)
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|data:/)
  expect(html.match(/<script[^>]*>[^<]*/g)).toEqual(['<script type="module" src="ui.js">'])
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
  expect(addresses.sort()).toEqual(['..', 'icon.svg', 'page.css', 'ui.js'])
})

test('a service without the files does not start, and one that is not asked for the inspector needs none', async () => {
  const store = memoryStore({ everyone: true })
  expect(() => createService({ store, ui: true, uiFolder: folder() })).toThrow(TypeError)
  // a checkout has them in no folder
  expect(() => createService({ store, ui: true })).toThrow('ui: ui.js is missing')
  const service = createService({ store })
  await service.ready
  expect((await service.fetch(new Request('http://localhost/ui/'))).status).toBe(404)
  await service.close({ drainMs: 0 })
})

test('the library shows the page from the folder that it is given', async () => {
  const uiFolder = folder({ 'ui.js': 'export {}' })
  const service = createService({ store: memoryStore({ everyone: true }), ui: true, uiFolder, tokens: [] })
  await service.ready
  const ask = (path: string) => service.fetch(new Request(`http://localhost${path}`))
  expect(await (await ask('/ui/')).text()).toContain('<redrive-inspector')
  expect(await (await ask('/ui/ui.js')).text()).toBe('export {}')
  expect(await (await ask('/')).json()).toMatchObject({ links: { ui: '/ui' } })
  expect((await ask('/retry-tasks')).status).toBe(401)
  service.drain()
  expect((await ask('/ui/')).status).toBe(200)
  await service.close({ drainMs: 0 })
})
