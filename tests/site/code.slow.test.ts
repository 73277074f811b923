// The site's own code, by the compiler that reads its components.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../../site', import.meta.url))

test('is strict TypeScript', async () => {
  const args = ['node_modules/vue-tsc/bin/vue-tsc.js', '--noEmit', '--project', 'tsconfig.json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error) => error)
  expect(stdout).toBe('')
})
