// Exported names of js/ that no other file uses: knip finds them.
import { at, packageBin, root } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'

/** @returns {Promise<string[]>} a line for each, as `js/a.ts:3: name` */
export async function unusedExports(folder = root) {
  const words = ['--directory', folder, '--config', at('scripts', 'check', 'knip.config.mjs')]
  const wanted = ['--include', 'exports,types', '--reporter', 'json', '--no-config-hints', '--no-progress']
  const { output, stdout } = await run(process.execPath, [packageBin('knip', 'bin/knip.js'), ...words, ...wanted], {
    allowFailure: true,
  })
  // where it cannot do its work it prints why
  if (!stdout.startsWith('{')) throw new StepError(output)
  return JSON.parse(stdout).issues.flatMap(({ file, exports, types }) =>
    [...exports, ...types].map(({ name, line }) => `${file}:${line}: ${name}`),
  )
}

export async function checkExports() {
  const unused = await unusedExports()
  if (unused.length > 0)
    throw new StepError(`${unused.join('\n')}\nno other file uses these: take 'export' away, or all of it`)
}
