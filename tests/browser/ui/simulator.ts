/** `sim`, the program behind `npm run sim:crowd`, `sim:spread` and `sim:storm`: what the lab's tables are compared with. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { RetryPolicy } from '../../../js/api/policy.ts'
import { policyFields } from '../../../js/core/policy-row.ts'
import { resolvePolicy } from '../../../js/options/policy-rules.ts'
import { here } from '../chromium.ts'

const run = promisify(execFile)
const cwd = here('../..')

/** Compiles it where that has not been done. */
export const buildSimulator = async (): Promise<void> => {
  await run('cargo', ['build', '--release', '--package', 'sim'], { cwd })
}

export async function simulated<T>(...args: readonly string[]): Promise<T> {
  const { stdout } = await run('cargo', ['run', '--quiet', '--release', '--package', 'sim', '--', ...args], {
    cwd,
    maxBuffer: 2 ** 26,
  })
  return JSON.parse(stdout) as T
}

/** A policy as the program takes it. */
export const row = (policy: Partial<RetryPolicy>): readonly string[] => [
  '--fields',
  policyFields(resolvePolicy(policy)).join(),
]
