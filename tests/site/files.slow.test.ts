// The files of the built site: links lead somewhere, to the very heading, and nothing lies inline that its Content-Security-Policy forbids.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { site } from './serve.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { repository: string }

const names = readdirSync(site, { recursive: true, encoding: 'utf8' })
const pages = new Map(
  names
    .filter((name) => name.endsWith('.html') && name !== '404.html')
    .map((name): [string, string] => [
      `/${name.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`,
      readFileSync(join(site, name), 'utf8'),
    ]),
)

const unescaped = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`<[^>]*?\\s${name}="([^"]*)"`, 'g'))].map(([, value = '']) => unescaped(value))

test('each page of docs/ is a page of the site', () => {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  )
  const missing = docs
    .map(
      (name) =>
        `/${name
          .replaceAll('\\', '/')
          .replace(/(README|index)\.md$/, '')
          .replace(/\.md$/, '')}`,
    )
    .filter((path) => !pages.has(path))
  expect(docs.length).toBeGreaterThan(100)
  expect(missing).toEqual([])
})

test('each link within the site leads to a page, and to a heading that is there', () => {
  const lost: string[] = []
  let checked = 0
  for (const [path, html] of pages) {
    for (const href of attributes(html, 'href')) {
      if (/^[a-z]+:/.test(href)) continue
      const [target = '', anchor] = href.split('#')
      const to = decodeURIComponent(
        target === '' ? path : posix.resolve(path.endsWith('/') ? path : dirname(path), target),
      )
      const isFolder = target.endsWith('/') && to !== '/'
      const found = pages.get(isFolder ? `${to}/` : to)
      checked += 1
      if (found === undefined && !existsSync(join(site, to))) lost.push(`${path}: ${href}`)
      else if (anchor && found !== undefined && !found.includes(` id="${decodeURIComponent(anchor)}"`)) {
        lost.push(`${path}: ${href}`)
      }
    }
  }
  expect(checked).toBeGreaterThan(10_000)
  expect([...new Set(lost)]).toEqual([])
})

test('each link to the repository names a file or folder that is in it', () => {
  const links = new Set([...pages.values()].flatMap((html) => attributes(html, 'href')))
  const files = [...links].flatMap((href) => {
    const [, kind, path] = new RegExp(`^${repository}/(blob|tree|edit)/main/([^#]*)`).exec(href) ?? []
    return path === undefined ? [] : [{ kind, path }]
  })
  expect(files.filter(({ kind }) => kind !== 'edit').length).toBeGreaterThan(5)
  expect(files.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})

test('no page has a script or a style of its own, and no style sheet a picture', () => {
  const faults: string[] = []
  for (const [path, html] of pages) {
    if (/<script(?![^>]*\ssrc=)[^>]*>/.test(html)) faults.push(`${path}: a script`)
    if (/<style|<[^>]*\sstyle="/.test(html)) faults.push(`${path}: a style`)
    if (/<[^>]*\son\w+="/.test(html)) faults.push(`${path}: a handler`)
  }
  for (const name of names.filter((each) => each.endsWith('.css'))) {
    if (/url\(["']?data:/.test(readFileSync(join(site, name), 'utf8'))) faults.push(`${name}: a picture`)
  }
  expect(faults).toEqual([])
})
