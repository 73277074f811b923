import { defineConfig } from 'vitest/config'

/** Tests that start browsers, bundlers and servers: two cores run one such file at a time. */
const heavy = { testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false }

/** `npm run test:packaging -- --all` says so: the others have not installed what these need. */
const unlessAll = process.env.PACKAGING === 'all' ? [] : ['tests/packaging/all/**']

export default defineConfig({
  test: {
    environment: 'node',
    // with two cores the default is one worker, which then stands still whenever a test waits for a process or a disk
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'js',
          // virtual time, but real work, to which other suites go first: this ends what hangs, and measures nothing
          testTimeout: 60_000,
          hookTimeout: 60_000,
          include: ['tests/**/*.test.ts'],
          exclude: [
            'tests/bodies/**',
            'tests/browser/**',
            'tests/webkit/**',
            'tests/metrics/**',
            'tests/openapi/**',
            'tests/packaging/**',
            'tests/site/**',
            'tests/workers/**',
            '**/node_modules/**',
          ],
        },
      },
      { extends: true, test: { name: 'browser', include: ['tests/browser/**/*.test.ts'], ...heavy } },
      { extends: true, test: { name: 'webkit', include: ['tests/webkit/**/*.test.ts'], ...heavy } },
      {
        extends: true,
        test: { name: 'openapi', include: ['tests/openapi/**/*.test.ts'], ...heavy, testTimeout: 1_800_000 },
      },
      {
        extends: true,
        test: { name: 'bodies', include: ['tests/bodies/**/*.test.ts'], ...heavy, testTimeout: 600_000 },
      },
      {
        extends: true,
        test: {
          name: 'site',
          include: ['tests/site/**/*.test.ts'],
          globalSetup: ['tests/site/build.ts'],
          ...heavy,
        },
      },
      { extends: true, test: { name: 'metrics', include: ['tests/metrics/**/*.test.ts'], ...heavy } },
      {
        extends: true,
        test: {
          name: 'packaging',
          include: ['tests/packaging/**/*.test.ts'],
          exclude: [...unlessAll, '**/node_modules/**'],
          globalSetup: ['tests/packaging/pack.ts'],
          ...heavy,
        },
      },
      {
        extends: true,
        test: {
          name: 'workers',
          include: ['tests/workers/**/*.test.ts'],
          globalSetup: ['tests/packaging/pack.ts'],
          ...heavy,
        },
      },
    ],
  },
})
