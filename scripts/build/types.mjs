// Makes the declarations of the packages from js/: the output of tsc, reduced to the files that the entries of each reach.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { at, packageBin, root } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'

const relativeSpecifier = /((?:from|import)\s*\(?\s*['"])(\.{1,2}\/[^'"]+)(['"])/g

/** tsc leaves `.ts` in declarations; a reader that resolves strictly looks for the `.js` beside the `.d.ts`. */
export const withJsSpecifiers = (text) =>
  text.replace(relativeSpecifier, (_, before, path, after) => `${before}${path.replace(/\.ts$/, '.js')}${after}`)

const importsOf = (text) => [...text.matchAll(relativeSpecifier)].map((match) => match[2])

const emitted = at('target', 'types')

/** Has tsc write what `declarations` picks from. */
export async function emitDeclarations() {
  rmSync(emitted, { recursive: true, force: true })
  for (const project of ['tsconfig.build.json', 'tsconfig.build-node.json']) {
    await run(process.execPath, [packageBin('typescript', 'bin/tsc'), '-p', at(project)], { cwd: root })
  }
}

/** `sources`: of the entries. */
export function declarations(outdir, sources) {
  const queue = sources
    .map((source) => join(emitted, relative('js', source).replace(/\.ts$/, '.d.ts')))
    .filter((path) => !path.includes('.workerd.'))
  const seen = new Set()
  for (const path of queue) {
    if (seen.has(path)) continue
    seen.add(path)
    const written = at('js', relative(emitted, path)) // the glue's types come as they are
    const source = [path, written].find((file) => existsSync(file))
    if (!source) throw new StepError(`the published types name ${relative(emitted, path)}, which tsc did not emit`)
    const text = withJsSpecifiers(readFileSync(source, 'utf8'))
    const target = join(outdir, 'types', relative(emitted, path))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
    for (const specifier of importsOf(text)) queue.push(join(dirname(path), specifier.replace(/\.(c?)js$/, '.d.$1ts')))
  }
}

/** Declares the two modules: a WebAssembly.Module, which has no members, by a name that is also known without the DOM library. */
export function moduleDeclarations(outdir) {
  for (const name of ['redrive', 'redrive-keys']) {
    writeFileSync(join(outdir, `${name}.wasm.d.ts`), 'declare const module: object\nexport default module\n')
  }
}
