// Processes of tests: started, read line by line, killed when the test is over.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** Node on a script of tests/js/. */
export function start(script: string, ...words: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url))
  const child = spawn(process.execPath, [path, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** The lines that a process writes, as they come. */
export async function* linesOf({ stdout }: ChildProcess): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of stdout ?? []) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Its exit code, and the signal that ended it. */
export const ended = (child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])))

/** All lines that a process writes until it ends, and its end. */
export async function wordsOf(child: ChildProcess) {
  const end = ended(child)
  const lines: string[] = []
  for await (const line of linesOf(child)) lines.push(line)
  return { lines, end: await end }
}

/** Ends it as a crash would. */
export async function kill(child: ChildProcess): Promise<void> {
  const end = ended(child)
  child.kill('SIGKILL')
  await end
}
