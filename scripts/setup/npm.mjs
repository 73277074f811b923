// npm, as a script for the Node that runs us where we know it: `npm` by name is a `.cmd` on Windows.
import { run } from '../lib/steps.mjs'

export function npm(args, options) {
  const script = process.env.npm_execpath
  return script?.endsWith('.js') ? run(process.execPath, [script, ...args], options) : run('npm', args, options)
}
