// Chance with a seed, and values that no honest writer leaves in a store.

export interface Chance {
  /** 0 to below 1. */
  draw(): number
  /** 0 to below `n`. */
  below(n: number): number
  one<T>(of: readonly T[]): T
}

/** Mulberry32: the same seed gives the same rows. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(draw() * n)
  return { draw, below, one: (of) => of[below(of.length)] as (typeof of)[number] }
}

/** When `fakeClock` begins. */
const START = Date.UTC(2030, 0, 1)

export const NUMBERS: readonly number[] = [
  ...[-1, 0.5, 1.5, -0.5, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 1e300, -1e300, 9_223_372_036_854_775_000],
  ...[Number.MAX_VALUE, Number.MIN_VALUE, -0, 3, 64, 101],
  // at and about the ends of what counters may be
  ...[2 ** 51, 2 ** 51 + 1, 2 ** 52 - 1, 2 ** 52, 2 ** 52 + 1, 2 ** 53 - 2, 2 ** 53 - 1],
  // instants: the clock of a story begins at START
  ...[3_600_000, 86_400_000, 330 * 86_400_000, 50 * 366 * 86_400_000].map((ms) => START + ms),
]

export const TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    'a b',
    '__proto__',
    'constructor',
    'toString',
    'null',
    '0',
    '-1',
    'NaN',
    '9'.repeat(400),
    'x'.repeat(70_000),
  ],
  ...[
    'a\u0000b',
    'a\r\nb: c',
    '\u2028',
    'ÿ',
    '€',
    '../..',
    'https://evil.test/',
    'https://evil.test',
    'javascript:alert(1)',
  ],
  ...[
    'https://user:pw@api.test/',
    'https://api.test@evil.test/',
    'file:///etc/passwd',
    'https://api.test/\u0000',
    '//evil.test',
  ],
  ...'PENDING IN_FLIGHT SUCCEEDED EXHAUSTED CANCELLED pending TRACE CONNECT GET follow max_attempts'.split(' '),
  ...['https://evil.test ben', 'https://api.test ben', 'https://other.test', 'ben', '{}', '[]', '{', '"x"', '1e999'],
]

/** Values that JSON holds. */
export const PLAIN: readonly unknown[] = [
  ...[null, true, false, [], {}, ['follow'], ['a b'], [null], [[]], { a: 1 }, { length: 1 }, [{}], { toString: 1 }],
  ...[
    { redrive: true },
    { authorization: 'Bearer stolen' },
    { 'a b': 'c' },
    { a: 'b\r\nc: d' },
    { a: ['b'] },
    { a: null },
  ],
  ...NUMBERS,
  ...TEXTS,
]
