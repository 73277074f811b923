// Starts npm as a script of this Node where its path is known: `npm` by name is a `.cmd` on Windows.
import { run } from '../lib/steps.mjs'

export function npm(args, options) {
  const script = process.env.npm_execpath
  return script?.endsWith('.js') ? run(process.execPath, [script, ...args], options) : run('npm', args, options)
}
