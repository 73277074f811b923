import { defineConfig } from 'vitest/config'
import { SIZE } from './tests/size.ts'

/** Suites with a folder of their own; all other tests are of the package in virtual time. */
const FOLDERS = ['bodies', 'browser', 'metrics', 'openapi', 'packaging', 'site', 'webkit', 'workers']

/** A file's name says when it runs and how: `x.slow.test.ts` not in quick, `x.timed.test.ts` by itself, `x.isolated.test.ts` in a process of its own. */
const SLOW = SIZE === 'quick' ? ['**/*.slow.test.ts'] : []
const NAMED = ['**/*.timed.test.ts', '**/*.isolated.test.ts', '**/*.isolated.slow.test.ts']
const SKIPPED = [...SLOW, '**/node_modules/**']

/** Virtual time, but real work, to which other suites go first: this ends what hangs, and measures nothing. */
const light = { testTimeout: 60_000, hookTimeout: 60_000 }
/** Tests that start browsers, bundlers and servers: two cores run one such file at a time. */
const heavy = { testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false }

const suite = (name: string, options: object = {}, unless: readonly string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include: [`tests/${name}/**/*.test.ts`],
    exclude: [...SKIPPED, ...NAMED, ...unless],
    ...heavy,
    ...options,
  },
})
const packed = { globalSetup: ['tests/packaging/pack.ts'] }

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
          ...light,
          include: ['tests/**/*.test.ts'],
          exclude: [...SKIPPED, ...NAMED, ...FOLDERS.map((folder) => `tests/${folder}/**`)],
          // a process for each file costs more than a third of the processor
          isolate: false,
          setupFiles: ['tests/each-file.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          ...light,
          setupFiles: ['tests/each-file.ts'],
          include: ['tests/**/*.isolated{,.slow}.test.ts'],
          exclude: SKIPPED,
        },
      },
      {
        extends: true,
        test: { name: 'timed', ...heavy, setupFiles: ['tests/timed.ts'], include: ['tests/**/*.timed.test.ts'] },
      },
      suite('browser'),
      suite('webkit'),
      suite('openapi', { testTimeout: 1_800_000 }),
      suite('bodies', { testTimeout: 600_000 }),
      suite('site', { globalSetup: ['tests/site/build.ts'] }),
      suite('metrics'),
      // what these need is installed for a night's run only
      suite('packaging', packed, SIZE === 'all' ? [] : ['tests/packaging/all/**']),
      suite('workers', packed),
    ],
  },
})
