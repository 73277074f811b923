/**
 * The files that `/ui` gives out, read once when the service starts: the page, and `ui.js` of the package's folder `ui` with everything that it imports
 * from beside itself, now or later. A package that lacks one of them would show an empty page, so that is found before anything is opened.
 */

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InspectorFile, InspectorFiles } from './api/context.ts'
import { etagOf } from './api/etag.ts'
import { PAGE_FILES } from './inspector-page.ts'

const ENTRY = 'ui.js'
/** How one file of the package names another. */
const BESIDE = /["'`]\.\/([\w-]+(?:\.[\w-]+)*\.js)["'`]/g
/** The build puts eight characters of a digest into the names of chunks. */
const HASHED = /-[A-Za-z0-9]{8}\.js$/

/** In the package, beside the code. */
const ownFolder = (): string => join(dirname(fileURLToPath(import.meta.url)), 'ui')

/** Throws a TypeError that names a file that is missing. */
export function readInspector(folder: string = ownFolder()): InspectorFiles {
  const files = new Map<string, InspectorFile>()
  for (const [name, { text, contentType }] of PAGE_FILES) {
    files.set(name, fileOf(name, new TextEncoder().encode(text), contentType))
  }
  const open = [ENTRY]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (files.has(name)) continue
    const bytes = read(folder, name)
    files.set(name, fileOf(name, bytes, 'text/javascript; charset=utf-8'))
    for (const [, other = ''] of new TextDecoder().decode(bytes).matchAll(BESIDE)) open.push(other)
  }
  return files
}

const fileOf = (name: string, bytes: Uint8Array<ArrayBuffer>, contentType: string): InspectorFile => ({
  bytes,
  contentType,
  etag: etagOf(bytes),
  isHashed: HASHED.test(name),
})

function read(folder: string, name: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(join(folder, name)))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`
    throw new TypeError(
      `ui: ${name} ${what} in ${folder}, where the files of the inspector should be; the package has them, and a bundle names their folder as uiFolder`,
      { cause },
    )
  }
}
