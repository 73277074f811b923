/** Bodies that only a real page has: files of the user's disk, and what a frame of the page has made. */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { labOrigin, openLab } from './lab.ts'

const browser = duringTests(() => launch())
const origin = labOrigin()

test.each<[what: string, change: (path: string) => void, inForm: 'named' | 'sent']>([
  // Chromium sends a form with the files as they are now
  ['changed', (path) => writeFileSync(path, 'longer than it was'), 'sent'],
  ['emptied', (path) => writeFileSync(path, ''), 'sent'],
  ['deleted', (path) => rmSync(path), 'named'],
])('the error of a file that was %s since it was picked names it', async (_, change, inForm) => {
  await using context = await browser.newContext()
  const folder = freshFolder()
  const paths = ['kept.txt', 'report.txt'].map((name) => join(folder, name))
  for (const path of paths) writeFileSync(path, 'as picked')
  const page = await openLab(context, origin)
  await page.setContent('<input type="file" multiple name="files">')
  await page.setInputFiles('input', paths)
  change(paths[1] as string)
  const errors = await page.evaluate(async () => {
    const queue = lab.open()
    const files = [...(document.querySelector('input')?.files ?? [])]
    const form = new FormData()
    for (const file of files) form.append('file', file)
    const post = (body: BodyInit) => ({ method: 'POST', body })
    const said = (call: Promise<unknown>) => call.then(() => 'sent').catch(({ name, message }) => `${name}: ${message}`)
    return [
      await said(queue.fetch('/api/file', post(files[1] as File))),
      await said(queue.fetch('/api/form', post(form))),
      await said(queue.enqueue('/api/form', post(form))),
      await said(queue.fetch('/api/kept', post(files[0] as File))),
    ]
  })
  const named = expect.stringMatching(/^NotReadableError: body: the file 'report\.txt' was changed or deleted/)
  const form = inForm === 'named' ? named : 'sent'
  expect(errors).toEqual([named, form, form, 'sent'])
  await eventually(() => origin.received.filter(({ path }) => path === '/api/form').length).toBe(
    inForm === 'sent' ? 2 : 0,
  )
  expect(origin.received.some(({ path }) => path === '/api/file')).toBe(false)
})

test('what a frame of the page has made is sent as plain fetch sends it', async () => {
  await using context = await browser.newContext()
  const page = await openLab(context, origin)
  await page.evaluate(async () => {
    const queue = lab.open()
    const frame = document.body.appendChild(document.createElement('iframe')).contentWindow as Window &
      typeof globalThis
    const form = new frame.FormData()
    form.append('a', '1')
    const url = `${location.origin}/api/made`
    const bodies = [
      new frame.URLSearchParams('a=1'),
      new frame.Blob(['a'], { type: 'image/png' }),
      new frame.File(['a'], 'a'),
      form,
    ]
    const request = () => new frame.Request(url, { method: 'PUT', body: 'tea', headers: { 'x-own': 'a' } })
    for (const body of bodies) {
      await fetch(url, { method: 'POST', body })
      await queue.fetch(url, { method: 'POST', body })
    }
    await fetch(request())
    await queue.fetch(request())
  })
  const sent = origin.received.map(({ method, headers, body }) => {
    const type = headers['content-type'] ?? ''
    const [, boundary = ' '] = type.split('boundary=')
    return [method, headers['x-own'], type.replace(boundary, ''), body.replaceAll(boundary, '')]
  })
  expect(sent).toHaveLength(10)
  for (let i = 0; i < sent.length; i += 2) expect(sent[i + 1]).toEqual(sent[i])
})
