// Source maps are apart: with the sources inside they are more than the code that they are for, and a page or a server reads none of them. A debugger is given
// the one of a file, or finds it beside the file where a developer has put it there.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Moves the maps to `outdir`. Sources are named as the repository does; the packed modules are left out, which are no text and half of the bytes. */
export function takeSourceMaps(folder, outdir) {
  mkdirSync(outdir, { recursive: true })
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.js.map'))) {
    const path = join(folder, name)
    const map = JSON.parse(readFileSync(path, 'utf8'))
    map.sources = map.sources.map((source) => source.replace(/^(\.\.\/)+/, ''))
    map.sourcesContent = map.sourcesContent.map((text, i) => (map.sources[i].endsWith('/packed.js') ? null : text))
    map.sourceRoot = 'redrive:///'
    writeFileSync(join(outdir, name), JSON.stringify(map))
    rmSync(path)
  }
}
