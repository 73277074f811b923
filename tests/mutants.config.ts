/** What `npm run mutants -- engine` runs for each small change of js/stores/engine. */

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/js/store-memory.test.ts', 'tests/js/store-sqlite.test.ts', 'tests/js/store-rules.test.ts'],
    testTimeout: 60_000,
  },
})
