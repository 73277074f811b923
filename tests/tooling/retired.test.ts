import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { refusedIn, refusedWords, retiredNames, vagueComments } from '../../scripts/check/retired.mjs'

const names = (text: string, path = 'js/durable/example.ts') => retiredNames(path, text)

test('a retired name is found with its line, and the name to use instead', () => {
  const text = "import type { Host } from '../host.ts'\n\nexport const LEASE_MS = 30_000\n"
  expect(names(text)).toEqual([
    "js/durable/example.ts:1: 'Host' is retired: use QueueContext",
    "js/durable/example.ts:3: 'LEASE_MS' is retired: use RENEWED_LEASE_MS",
  ])
})

test.for<readonly [string, string]>([
  ['a comment', "// the Host header\n/** Set by the Judge. */\nconst names = 'Host'\n"],
  ['a text', 'const words = `Host`\nconst more = "Durable"\n'],
  ['a longer name', 'class DurableObject {}\nconst WAKE_SPREAD_MS = holdLane(1)\nthreshold(2)\n'],
  ["the core's own method", 'this.#core.hold(now, lane, 500)\n'],
])('%s may hold it', ([, text]) => {
  expect(names(text)).toEqual([])
})

test('a method whose name is a bare verb is found, declared and called', () => {
  expect(names('class Lanes {\n  hold(lane: number): void {}\n}\nlanes.hold(1)\n')).toHaveLength(2)
})

test('a word that is retired in one folder is free in others', () => {
  const text = 'export class Waiting {}\n'
  expect(names(text)).toHaveLength(1)
  expect(names(text, 'js/stores/indexeddb/example.ts')).toEqual([])
})

const comments = (text: string, path = 'js/example.ts') => vagueComments(path, text)

test.for<readonly [string, string]>([
  ['// What this file is for.\nconst a = 1\n', "js/example.ts:1: begins with 'What'"],
  ['const a = 1\n\n/** The same, for lanes. */\nconst b = 2\n', "js/example.ts:3: begins with 'The same'"],
  ['const a = 1\n/**\n * Whose requests are sent.\n */\nconst b = 2\n', "js/example.ts:2: begins with 'Whose'"],
  ['const a = 1\n// until somebody asks\n', "js/example.ts:2: 'somebody'"],
  ['/** Nobody waits here. */\nconst a = 1\n', "js/example.ts:1: 'Nobody'"],
])('a comment without its thing or its actor is found: %s', ([text, fault]) => {
  expect(comments(text)).toEqual([expect.stringContaining(fault)])
})

test.for([
  'const a = 1\n// What follows is plain: only doc comments need a subject.\n',
  "const words = 'nobody waits' // a text is the user's\n",
  '/** Whatever lies on a disk keeps its name. */\nconst a = 1\n',
  '// Reads the headers.\n// What is not a header is left.\nconst a = 1\n',
])('other comments pass: %s', (text) => {
  expect(comments(text)).toEqual([])
})

test('doc comments of Rust are judged once, as a whole', () => {
  const text =
    '//! What is due.\n//! What is not.\n\n/// The due time.\n/// It is kept.\nfn due() {\n    // whoever asks\n}\n'
  expect(comments(text, 'src/example.rs')).toEqual([
    expect.stringContaining("src/example.rs:1: begins with 'What'"),
    expect.stringContaining("src/example.rs:7: 'whoever'"),
  ])
})

test('documents name the actor, but for what they quote from a program', () => {
  const text = '# Tabs\n\nA tab sends what nobody waits for.\n\n```\nlost: nobody knows how it ended\n```\n'
  expect(comments(text, 'docs/example.md')).toEqual(["docs/example.md:3: 'nobody': name the actor"])
})

const refused = refusedWords(readFileSync(new URL('../../docs/glossary.md', import.meta.url), 'utf8'))
const said = (text: string, path = 'docs/example.md') => refusedIn(path, text, refused)

test('the glossary has thirteen words, and most say what is not used in their place', () => {
  expect(new Set(refused.map(({ use }) => use)).size).toBeGreaterThan(12)
})

test.for<readonly [path: string, text: string, found: string]>([
  ['docs/example.md', 'It hands a\nwhole request over.\n', "docs/example.md:1: 'hands a whole request over'"],
  ['docs/example.md', '# Jobs\n', "docs/example.md:1: 'Jobs'"],
  ['js/example.ts', 'const a = 1\n/** The caller is told. */\n', "js/example.ts:2: 'told'"],
  ['js/example.ts', "throw new Error('the job has ended')\n", "js/example.ts:1: 'job'"],
  ['js/example.ts', `const say = () => html\`<p>\${count} jobs wait</p>\`\n`, "js/example.ts:1: 'jobs'"],
  ['js/example.ts', `const say = html\`a \${b ? html\`\${c}\n jobs wait\` : \`{\`} b\`\n`, "js/example.ts:2: 'jobs'"],
  ['js/ui/example.ts', "const label = 'Jobs'\n", "js/ui/example.ts:1: 'Jobs'"],
  ['src/example.rs', '/// Callers who wait.\nfn wait() {}\n', "src/example.rs:1: 'who wait'"],
  ['CHANGELOG.md', '# Jobs\n', "CHANGELOG.md:1: 'Jobs'"],
  ['examples/example.mjs', "console.log('two jobs wait')\n", "examples/example.mjs:1: 'jobs'"],
  ['examples/example.html', '<p>\n  Two jobs wait</p>\n', "examples/example.html:2: 'jobs'"],
  [
    'site/Example.vue',
    '<template><a :b="jobs" title="All jobs">{{ jobs }}</a></template>\n',
    "site/Example.vue:1: 'jobs'",
  ],
  ['site/Example.vue', "<script setup>\nconst a = 'two jobs wait'\n</script>\n", "site/Example.vue:2: 'jobs'"],
])('a word that the glossary refuses is found in prose: %s %j', ([path, text, found]) => {
  expect(said(text, path)).toEqual([expect.stringContaining(found)])
})

test.for<readonly [path: string, text: string]>([
  ['docs/example.md', 'The label `job`, and [a link](jobs.md).\n\n```js\nconst jobs = 1\n```\n'],
  [
    'js/example.ts',
    `import { job } from './job.ts'\nconst kind = 'told' // what it was told\nconst text = \`\${told(job)} tasks\`\n`,
  ],
  ['src/example.rs', 'let told = jobs; // told of it\n'],
  ['scripts/example.mjs', "console.log('two jobs wait')\n"],
  ['examples/example.html', '<script>const jobs = 1</script><!-- jobs --><b @click="jobs" v-for="a of jobs">b</b>\n'],
])('what is no prose keeps its words: %s %j', ([path, text]) => {
  expect(said(text, path)).toEqual([])
})
