/** The Worker of the tests as a consumer has it: the package from the tarball, bundled as Cloudflare's own tool does. */

import { readFileSync } from 'node:fs'
import { consumer } from '../../packaging/consumer.ts'
import { workerModules } from '../../packaging/worker-bundle.ts'

const source = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

let modules: ReturnType<typeof workerModules> | undefined

/** Once a process: it is the same each time. */
export function workerOf(): ReturnType<typeof workerModules> {
  modules ??= bundle()
  return modules
}

async function bundle(): ReturnType<typeof workerModules> {
  using project = consumer({ 'worker.js': source('./worker.js'), 'rig.js': source('./rig.js') })
  return await workerModules(project.folder)
}
