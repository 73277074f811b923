import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documented } from './documented.ts'

test('docs/service-security.md says of each value where it is, as the canary holds the service to it', () => {
  const page = readFileSync(new URL('../../../../docs/service-security.md', import.meta.url), 'utf8')
  const [, told = ''] = /<!-- canary: where values are -->\n\n(.*)\n\n<!-- \/canary -->/s.exec(page) ?? []
  expect(told).toBe(documented())
})
