// Every compiler from the oldest that we support to the last before our own, over every library, Workers' included.
import { join } from 'node:path'
import { vi } from 'vitest'
import { versioned } from '../consumer.ts'
import { tries } from '../tries.ts'
import { bothOfAxios, HONO, judge, libraries, ownCompiler, workerLibraries } from '../typed.ts'
import { installed, modules } from './installed.ts'

// eight programs each, by compilers that are slower than ours
vi.setConfig({ testTimeout: 300_000 })

const versions = ['5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6.0']
/** Compilers that cannot read Hono's own types. */
const WITHOUT_HONO = ['5.4', '5.5', '5.6']
/** Compilers that can tell the types of axios apart in one program: docs/compat-axios-retry.md says so. */
const WITH_BOTH = ['5.8', '5.9', '6.0']

for (const version of versions) {
  const name = `typescript-${version}`
  tries(installed('TypeScript', name), `types by TypeScript ${version}`, async () => {
    const { [HONO]: hono, ...rest } = libraries
    const more = [
      ...(hono && !WITHOUT_HONO.includes(version) ? [hono] : []),
      ...(WITH_BOTH.includes(version) ? [bothOfAxios] : []),
    ]
    for (const library of [...Object.values({ ...rest, ...workerLibraries }), ...more]) {
      await judge(join(modules, name), library, 'bundler', modules)
    }
  })
}

tries(versioned('TypeScript', 'typescript'), 'types with @cloudflare/workers-types', async () => {
  for (const library of Object.values(workerLibraries)) await judge(ownCompiler, library, 'bundler', modules)
})
