// Source maps lie beside the code, with the sources inside, so that a debugger shows what was written and a reader can compare.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Names sources as the repository does, and leaves out the packed modules, which are no text and half of the bytes. */
export function tidySourceMaps(folder) {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.js.map'))) {
    const path = join(folder, name)
    const map = JSON.parse(readFileSync(path, 'utf8'))
    map.sources = map.sources.map((source) => source.replace(/^(\.\.\/)+/, ''))
    map.sourcesContent = map.sourcesContent.map((text, i) => (map.sources[i].endsWith('/packed.js') ? null : text))
    map.sourceRoot = 'redrive:///'
    writeFileSync(path, JSON.stringify(map))
  }
}

/** The code of a file whose columns have moved away from its map. */
export const withoutSourceMap = (code) => code.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n')
