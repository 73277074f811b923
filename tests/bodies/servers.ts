/** Real servers that speak as S3 does, each with a folder and a port of its own; they end with the test. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { s3Tools } from '../../scripts/setup/s3.mjs'
import { freePort } from '../servers/free-port.ts'

export interface S3Server {
  /** Its origin. */
  readonly url: string
  /** What a client that may ask has in its environment. */
  readonly env: Readonly<Record<string, string>>
}

export const BUCKET = 'bodies'
export const KEY = { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-s3' } as const
const READY_WITHIN_MS = 60_000

/** Verifies signatures. `domain`: answers to names below it, too. */
export async function startS3sFs({ domain }: { readonly domain?: string } = {}): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-s3-'))
  mkdirSync(join(folder, BUCKET))
  const port = await freePort()
  const args = ['--host', '127.0.0.1', '--port', `${port}`, '--access-key', KEY.AWS_ACCESS_KEY_ID]
  const more = ['--secret-key', KEY.AWS_SECRET_ACCESS_KEY, ...(domain ? ['--domain', `${domain}:${port}`] : []), folder]
  await begin(s3Tools.s3sFs, [...args, ...more], port, folder)
  return { url: `http://127.0.0.1:${port}`, env: KEY }
}

/** Answers more of what S3 does, and believes every signature. */
export async function startMoto(): Promise<S3Server> {
  const port = await freePort()
  await begin(s3Tools.moto, ['--host', '127.0.0.1', '--port', `${port}`], port)
  const url = `http://127.0.0.1:${port}`
  const made = await statusOf(port, 'PUT', `/${BUCKET}`)
  if (made !== 200) throw new Error(`moto made no bucket: ${made}`)
  return { url, env: KEY }
}

async function begin(program: string, args: readonly string[], port: number, folder?: string): Promise<void> {
  if (!existsSync(program)) throw new Error(`${program} is not there: npm test -- bodies installs it`)
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (data) => {
    said = `${said}${data}`.slice(-4_000)
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })
  const until = Date.now() + READY_WITHIN_MS
  while ((await statusOf(port, 'GET', '/')) === 0) {
    if (hasEnded(child) || Date.now() > until) throw new Error(`${program} did not start: ${said}`)
    await sleep(20)
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** 0: there was no answer. */
function statusOf(port: number, method: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, method, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    asked.on('error', () => resolve(0))
    asked.end()
  })
}
