// VitePress writes two short scripts into the head of each page. Under `script-src 'self'` they have to be files.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const inline = /<script(?: id="([\w-]+)")?>([\s\S]*?)<\/script>/g

/** Collects the inline scripts of pages; `write` makes files of them. */
export function scriptFiles(base: string): {
  readonly moved: (html: string) => string
  readonly write: (folder: string) => void
} {
  const files = new Map<string, string>()
  const moved = (html: string): string =>
    html.replace(inline, (_, id: string | undefined, code: string) => {
      const hash = createHash('sha256').update(code).digest('hex').slice(0, 8)
      const name = `assets/${id ?? 'inline'}.${hash}.js`
      files.set(name, code)
      // not a module, and not deferred: the page must not be painted in the other colours first
      return `<script src="${base}${name}"></script>`
    })
  const write = (folder: string): void => {
    mkdirSync(join(folder, 'assets'), { recursive: true })
    for (const [name, code] of files) writeFileSync(join(folder, name), code)
  }
  return { moved, write }
}
