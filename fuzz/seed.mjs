// What the fuzzers start from: the rows of tests/vectors/, as each target reads its bytes.
// `node fuzz/seed.mjs` writes fuzz/work/seeds/<target>/, a file a row, and fuzz/work/long/<target>/, inputs of a
// megabyte each. They are not committed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const lines = (name) => JSON.parse(readFileSync(here(`../tests/vectors/${name}.json`), 'utf8')).vectors
/** A line is a row, or holds many that differ in `columns` alone. */
const rows = (name) =>
  lines(name).flatMap(({ columns, rows: many, ...same }) =>
    columns
      ? many.map((row) => ({ ...same, ...Object.fromEntries(columns.map((column, i) => [column, row[i]])) }))
      : same,
  )

const u32 = (number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number >>> 0)
  return bytes
}
const u64 = (number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(number))
  return bytes
}

/** fuzz/src/retry_after.rs */
const answer = (now, ...values) => {
  const there = values.reduce((bits, value, at) => (value == null ? bits : bits | (1 << at)), 0)
  return Buffer.concat([Buffer.from([there]), u64(now), Buffer.from(values.map((value) => value ?? '').join('\n'))])
}

const strategies = [
  'exponential',
  'linear',
  'fixed',
  'polynomial',
  'sidekiq',
  'buckets',
  'padded_exponential',
  'spread',
]
const jitters = ['NONE', 'FULL', 'EQUAL', 'DECORRELATED', 'ADDITIVE', 'PROPORTIONAL', 'DECORRELATED_CLAMPED']
const fields = [
  ['strategy', (name) => [...strategies, 'table'].indexOf(name)],
  ['maxAttempts'],
  ['initialDelayMs'],
  ['multiplier'],
  ['maxDelayMs'],
  ['totalBudgetMs'],
  ['jitterType', (name) => jitters.indexOf(name)],
  ...['jitterRatio', 'freshJitter', 'stepMs', 'baseMs', 'exponent', 'jitterMs'].map((name) => [name]),
  ['retryNetworkErrors', Number],
  ...['attemptTimeoutMs', 'estimatedCallMs', 'maxRetryAfterMs', 'keyTtlMs'].map((name) => [name]),
  ['retryTimeouts', Number],
]

/** fuzz/src/policy.rs */
const policy = (options, attempt = 1, draw = 0) => {
  const number = (value) => {
    if (typeof value !== 'number') return Buffer.from([0])
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 16)
      return Buffer.concat([Buffer.from([2]), u32(value).subarray(0, 2)])
    const bytes = Buffer.alloc(9, 9)
    bytes.writeDoubleLE(value, 1)
    return bytes
  }
  const lists = [options.delaysMs, options.retryableStatusCodes]
  const row = fields.map(([name, read]) => number(options[name] == null || !read ? options[name] : read(options[name])))
  const counts = lists.map((list) => number(Array.isArray(list) ? list.length : undefined))
  const entries = lists.flatMap((list) => (Array.isArray(list) ? list.map(number) : []))
  return Buffer.concat([u32(attempt), u32(draw), u32(draw), number(1000), ...row, ...counts, ...entries])
}

/** Bytes that spell worlds of the simulation (sim/src/world.rs), from a fixed generator. */
const worlds = () => {
  let state = 1
  const byte = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  }
  return Array.from({ length: 40 }, (_, at) => Buffer.from({ length: 5 + 8 * (at + 1) * 3 }, byte))
}

const seeds = {
  retry_after: [
    ...rows('retry-after').map((row) => answer(row.now, row.header, undefined, row.date)),
    ...rows('server-delay').map((row) => answer(row.now, row.retryAfter, row.retryAfterMs, row.date)),
    ...rows('asked').map(({ now, lines }) => answer(now, null, ...lines.map(([name, value]) => `${name}:${value}`))),
  ],
  ratelimit: rows('ratelimit').map((row) => Buffer.from(row.header)),
  json: rows('canonical-json').map((row) => (row.textHex ? Buffer.from(row.textHex, 'hex') : Buffer.from(row.text))),
  url: [...rows('urls'), ...rows('url-secrets')].map((row) => Buffer.from(row.url)),
  headers: [
    ...rows('headers').map((row) =>
      Buffer.from([row.name, (row.persist ?? []).join('\n'), (row.deny ?? []).join('\n'), ''].join('\0')),
    ),
    ...rows('header-values').map((row) => Buffer.from(`accept\0x-*\0*-b\0${row.value}`)),
  ],
  policy: [
    ...rows('policies').map((row) => policy(row.options)),
    ...rows('schedule').map((row) => policy(row.options)),
    ...rows('backoff-own').map((row) => policy(row.options, row.attempt, row.u32)),
  ],
  queue: worlds(),
}

/** A megabyte of the same, where time that grows with the square of it would show. */
const long = (piece, before = '', after = '') =>
  Buffer.from(before + piece.repeat(Math.ceil(1_000_000 / piece.length)) + after)
const pieces = [
  ' ',
  ',',
  '1',
  '1,',
  'Sun, 06 Nov 1994 08:49:37 GMT,',
  '"a";r=1,',
  ';a',
  '"',
  '\\"',
  '%41',
  '%',
  '&',
  '?',
  '#',
]
const urls = [
  '/',
  '../',
  './',
  '@',
  ':',
  'a.',
  '0x1.',
  '&a=1',
  '&sig=1',
  '&=Bearer ',
  '?a',
  'eyJhbGciOiJ9.',
  '%2e%2e/',
  '\t',
]
const texts = ['[', '[[],', '{"a":', '"a":1,', '[1e20,', '1e5,', '\\u0041', '\\ud83d\\ude00', 'é', '0.0', '-']
const values = [
  'Bearer',
  'Bearer ',
  'eyJ',
  'eyJhbGciOiJ9.',
  'eyJhbGciOiJ9..',
  '-----BEGIN',
  '-',
  'ghp_',
  'sk-',
  'a ',
  '\t',
]
const longest = {
  retry_after: pieces.flatMap((piece) =>
    [3, 4].map((bits) => Buffer.concat([Buffer.from([bits]), u64(1e12), long(piece)])),
  ),
  ratelimit: pieces.flatMap((piece) => [long(piece), long(piece, '"a";r=1;b='), long(piece, '"a";r=1;b="', '"')]),
  json: texts.flatMap((piece) => [long(piece), long(piece, '['), long(piece, '"', '"'), long(piece, '{"a":[', '1]}')]),
  url: [...pieces, ...urls].flatMap((piece) => [
    long(piece, 'https://a.test/'),
    long(piece, 'https://'),
    long(piece, 'https://a.test/?'),
    long(piece, 'https://a.test/#'),
  ]),
  headers: [...pieces, ...values].flatMap((piece) => [
    long(piece, 'accept\0\0\0'),
    long(`x-${piece.trim()}`, '', '\0x-*\0*-b\0'),
    long('x-a*\n', 'x-a\0', 'x-b\0*a\0'),
  ]),
}

function write(place, target, inputs) {
  const folder = here(`work/${place}/${target}/`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const input of inputs) writeFileSync(`${folder}${createHash('sha1').update(input).digest('hex')}`, input)
}

for (const [target, inputs] of Object.entries(seeds)) {
  write('seeds', target, inputs)
  write('long', target, longest[target] ?? [])
}
