// Icons of the theme lie in its style sheets as data: URLs. Under `default-src 'self'` they have to be files.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const dataUrl = /url\((["'])data:image\/svg\+xml[,;](?:utf8,)?(.*?)\1\)/g

/** Makes a file of each picture in the style sheets of a built site. */
export function imageFiles(folder: string, base: string): void {
  const sheets = readdirSync(folder, {
    recursive: true,
    encoding: 'utf8',
  }).filter((name) => name.endsWith('.css'))
  for (const sheet of sheets) {
    const path = join(folder, sheet)
    const text = readFileSync(path, 'utf8').replace(dataUrl, (_, __, encoded: string) => {
      const svg = decodeURIComponent(encoded.replaceAll('\\"', '"'))
      const name = `assets/icon.${createHash('sha256').update(svg).digest('hex').slice(0, 8)}.svg`
      writeFileSync(join(folder, name), svg)
      return `url(${base}${name})`
    })
    const left = /url\(["']?data:[^)]{0,80}/.exec(text)?.[0]
    if (left !== undefined) throw new Error(`${sheet}: a picture that the Content-Security-Policy forbids: ${left}`)
    writeFileSync(path, text)
  }
}
