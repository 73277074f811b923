/**
 * What the contract suite takes from its test runner, for a page or a Worker: the tests are kept by name and run one by one when
 * asked. `expect` is the runner's own, so that what is equal there is equal here.
 */
import { expect as unpolled } from 'vitest'

type Matcher = (...args: readonly unknown[]) => void
interface PollTerms {
  readonly timeout?: number
  readonly interval?: number
}

/** Asks until the matcher is content, or the time is over; that of the runner needs the runner. */
function poll(read: () => unknown, { timeout = 1_000, interval = 50 }: PollTerms = {}): Record<string, Matcher> {
  const matcher = async (name: string, args: readonly unknown[]): Promise<void> => {
    const until = performance.now() + timeout
    for (;;) {
      try {
        const said = unpolled(await read()) as unknown as Record<string, Matcher>
        said[name]?.(...args)
        return
      } catch (error) {
        if (performance.now() > until) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, interval))
    }
  }
  return new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args: readonly unknown[]) =>
          matcher(String(name), args),
    },
  )
}

export const expect: typeof unpolled = Object.assign(unpolled, { poll }) as typeof unpolled

interface Kept {
  readonly name: string
  readonly work: () => unknown
}
type Work = () => unknown

const kept: Kept[] = []
const around: string[] = []
let before: readonly Work[] = []
let finishers: Work[] = []

export function describe(name: string, define: () => void): void {
  const outer = before
  around.push(name)
  define()
  around.pop()
  before = outer
}

export function beforeEach(work: Work): void {
  before = [...before, work]
}

/** As `test(name, work)` and `test(name, options, work)`; time limits are the page's driver's. */
function keep(name: string, ...rest: readonly [Work] | readonly [object, Work]): void {
  const works = [...before, rest.at(-1) as Work]
  const work = async (): Promise<void> => {
    for (const each of works) await each()
  }
  kept.push({ name: [...around, name].join(' > '), work })
}

export const test = Object.assign(keep, {
  /** A test for each case, which is its argument; `%s` in the name is the case, or the first of its list. */
  for<T>(cases: readonly T[]) {
    return (name: string, work: (given: T) => unknown): void => {
      for (const [i, given] of cases.entries()) {
        const shown = Array.isArray(given) ? given[0] : given
        const said = name.replace(/%[so]/, () => (typeof shown === 'object' ? `case ${i + 1}` : String(shown)))
        keep(said, () => work(given))
      }
    }
  },
})

export function onTestFinished(work: Work): void {
  finishers.push(work)
}

export function names(): readonly string[] {
  return kept.map(({ name }) => name)
}

/** Runs one test; says what is wrong, or null. */
export async function run(name: string): Promise<string | null> {
  const found = kept.find((each) => each.name === name)
  if (!found) return `there is no test '${name}'`
  finishers = []
  let failure: string | null = null
  const note = (error: unknown): void => {
    failure ??= error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)
  }
  try {
    await found.work()
  } catch (error) {
    note(error)
  }
  for (const finish of finishers.reverse()) {
    try {
      await finish()
    } catch (error) {
      note(error)
    }
  }
  return failure
}
