// Prints one line of progress per step, with its time: a set-up that is silent for a minute looks hung, and one that prints
// everything hides the line that matters. The output of a step's programs is shown only if the step fails.
// Only `node:` imports here: this runs before any package is installed.
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { root } from './paths.mjs'

/** A step that cannot work. The message says what is missing and how to get it. */
export class StepError extends Error {
  name = 'StepError'
}

const live = process.stdout.isTTY === true && !process.env.CI

/** `12.3 s`, `0.4 s`, `2 min 5 s` */
export function duration(ms) {
  const seconds = ms / 1000
  if (seconds < 100) return `${seconds.toFixed(1)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** Steps under way, in the order in which they began. */
const running = new Set()
const draw = () => {
  if (live) process.stdout.write(`\r\x1b[2K${running.size > 0 ? `… ${[...running].join(', ')}` : ''}`)
}

/** Prints a line that is not a step's own, between those of steps. */
export function tell(line) {
  process.stdout.write(`${live ? '\r\x1b[2K' : ''}${line}\n`)
  draw()
}

/**
 * Runs `work` and prints its line when it has ended, whatever else is under way. `work` may return a few words for the line
 * (`already there`); an error ends the line with a cross and is thrown on.
 */
export async function step(title, work) {
  const started = performance.now()
  const end = (mark, words = '') => {
    running.delete(title)
    tell(`${mark} ${title}${words} ${duration(performance.now() - started)}`)
  }
  running.add(title)
  draw()
  try {
    const note = await work()
    end('✓', typeof note === 'string' ? ` (${note})` : '')
  } catch (error) {
    end('✗')
    throw error
  }
}

const yielding = new AsyncLocalStorage()

/** Programs that `work` runs leave the processor to all others: what computes for minutes, beside tests that live in real time. */
export const yieldingToOthers = (work) => yielding.run(true, work)

function giveWay({ pid }) {
  if (pid === undefined) return
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // it has ended already
  }
}

/**
 * Runs a program to its end and returns its output.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, limitMs?: number, allowFailure?: boolean }} [options]
 *   limitMs: end it after so long; allowFailure: a code other than 0 is an answer
 * @returns {Promise<{ code: number, output: string, stdout: string }>}
 */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (yielding.getStore()) giveWay(child)
    const all = []
    const out = []
    child.stdout.on('data', (chunk) => {
      all.push(chunk)
      out.push(chunk)
    })
    child.stderr.on('data', (chunk) => all.push(chunk))
    let expired = false
    const limit = options.limitMs
      ? setTimeout(() => {
          expired = true
          child.kill('SIGKILL')
        }, options.limitMs)
      : undefined
    const words = [program === process.execPath ? 'node' : program, ...args]
    const command = words.map((word) => word.replace(`${root}/`, '')).join(' ')
    child.on('error', (cause) => {
      clearTimeout(limit)
      reject(new StepError(`cannot run ${program}: ${cause.message}`, { cause }))
    })
    child.on('close', (code, signal) => {
      clearTimeout(limit)
      const output = Buffer.concat(all).toString()
      const stdout = Buffer.concat(out).toString()
      if (code === 0 || (options.allowFailure && !expired)) return resolve({ code: code ?? 1, output, stdout })
      const how = expired ? `took longer than ${duration(options.limitMs)}` : `ended with ${signal ?? `code ${code}`}`
      reject(new StepError(`${command} ${how}\n${output.trimEnd()}`.trimEnd()))
    })
  })
}

/** Runs the body of an entry script: prints the message of a StepError, and other errors with their stack. */
export async function main(work) {
  try {
    await work()
  } catch (error) {
    process.stderr.write(`\n${error instanceof StepError ? error.message : (error?.stack ?? error)}\n`)
    process.exitCode = 1
  }
}

/** Whether `moduleUrl` is the script that node was started with, and not an import of it. */
export function isEntry(moduleUrl) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(moduleUrl)
}
