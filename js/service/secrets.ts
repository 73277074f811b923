/**
 * Secrets where their operator keeps them: in the environment, in a file, or with a program that tells them. They are read when they
 * are needed and kept in memory alone; no error of this module, and nothing that it logs, has a part of one (S12).
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { type Clock, RedriveError } from 'redrive'

/** A place to read a secret from. */
export interface SecretSource {
  readonly kind: 'env' | 'file' | 'exec'
  /** The name of a variable, the path of a file, a command line. */
  readonly at: string
}

/** The source that a text names; undefined: it names none. */
export function sourceIn(text: string): SecretSource | undefined {
  const [, kind, at = ''] = /^(env|file|exec):(.+)$/s.exec(text) ?? []
  if (kind === undefined || /[\0\r\n]/.test(at) || (kind === 'env' && !/^\w+$/.test(at))) return undefined
  return { kind: kind as SecretSource['kind'], at }
}

/** Ends a sentence that says what was expected. */
export const SOURCES = "'env:NAME', 'file:PATH' or 'exec:COMMAND'"

/** `SECRET_UNREADABLE`: a secret could not be read. It says where it was to be and what is wrong, and nothing of what was found. */
export class SecretError extends RedriveError {
  override readonly name = 'SecretError'
  constructor(where: string, why: string) {
    super('SECRET_UNREADABLE', `${where}: ${why}`)
  }
}

/** A command line may have a secret in it. */
export const shownSource = ({ kind, at }: SecretSource): string => (kind === 'exec' ? 'exec:…' : `${kind}:${at}`)

const EXEC_MS = 5_000
/** Age up to which the answer of a program is used again. */
const EXEC_AGE_MS = 60_000
/** Likewise where it has failed, or where its answer was refused: many attempts at once ask one program once. */
const EXEC_AGAIN_MS = 5_000
const MOST_BYTES = 64 * 1024

interface Known {
  /** Changes with the file. */
  readonly mark: string
  readonly readAt: number
  readonly text: Promise<string>
  hasFailed: boolean
}

export interface SecretsOptions {
  readonly clock: Clock
  /** @default that of the process */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where relative paths begin, and commands run. @default that of the process */
  readonly cwd?: string
}

export class Secrets {
  readonly #clock: Clock
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #cwd: string
  readonly #known = new Map<string, Known>()

  constructor({ clock, env = process.env, cwd = process.cwd() }: SecretsOptions) {
    this.#clock = clock
    this.#env = env
    this.#cwd = cwd
  }

  /** The secret, without the end of its line. `isRefused`: the one that was read before was refused. Rejects with a SecretError. */
  async read(source: SecretSource, isRefused = false): Promise<string> {
    const text = withoutEnd(await this.#find(source, isRefused))
    if (text === '') throw new SecretError(shownSource(source), 'it is empty')
    return text
  }

  /** Forgets all that was read. */
  forget(): void {
    this.#known.clear()
  }

  async #find(source: SecretSource, isRefused: boolean): Promise<string> {
    if (source.kind === 'exec') return this.#execute(source, isRefused)
    if (source.kind === 'file') return this.#readFile(source, isRefused)
    const text = this.#env[source.at]
    if (text === undefined) throw new SecretError(shownSource(source), 'there is no such variable')
    return text
  }

  async #readFile(source: SecretSource, isRefused: boolean): Promise<string> {
    const path = resolve(this.#cwd, source.at)
    try {
      // a secret that is mounted is a link, which leads to another file from one moment to the next
      const { mtimeMs, size, ino } = await stat(path)
      if (size > MOST_BYTES) throw new SecretError(shownSource(source), `${size} bytes exceed ${MOST_BYTES}`)
      const mark = `${mtimeMs} ${size} ${ino}`
      const known = this.#known.get(path)
      if (known?.mark === mark && !isRefused) return await known.text
      const text = readFile(path, 'utf8')
      this.#known.set(path, { mark, readAt: 0, text, hasFailed: false })
      return await text
    } catch (error) {
      this.#known.delete(path)
      throw error instanceof SecretError ? error : new SecretError(shownSource(source), codeOf(error))
    }
  }

  #execute(source: SecretSource, isRefused: boolean): Promise<string> {
    const now = this.#clock.monotonic()
    const key = `exec:${source.at}`
    const known = this.#known.get(key)
    const most = known?.hasFailed || isRefused ? EXEC_AGAIN_MS : EXEC_AGE_MS
    if (known && now - known.readAt < most) return known.text
    const made: Known = { mark: '', readAt: now, text: this.#run(source), hasFailed: false }
    made.text.catch(() => {
      made.hasFailed = true
    })
    this.#known.set(key, made)
    return made.text
  }

  #run(source: SecretSource): Promise<string> {
    return new Promise((done, fail) => {
      const refuse = (why: string): void => fail(new SecretError(shownSource(source), why))
      // a group of its own, so that what a shell has started ends with it
      const isGroup = process.platform !== 'win32'
      const child = spawn(source.at, {
        shell: true,
        cwd: this.#cwd,
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: isGroup,
      })
      const parts: Buffer[] = []
      let size = 0
      const disarm = this.#clock.after(EXEC_MS, () => {
        refuse(`no answer within ${EXEC_MS} ms`)
        end(child, isGroup)
      })
      child.stdout.on('data', (part: Buffer) => {
        size += part.length
        if (size <= MOST_BYTES) parts.push(part)
        else {
          refuse(`more than ${MOST_BYTES} bytes`)
          end(child, isGroup)
        }
      })
      child.on('error', (error) => {
        disarm()
        refuse(codeOf(error))
      })
      child.on('close', (code, signal) => {
        disarm()
        if (code === 0) done(Buffer.concat(parts).toString('utf8'))
        else refuse(code === null ? `ended by ${signal}` : `exit code ${code}`)
      })
    })
  }
}

/** A regular expression would look at each run of line ends anew. */
function withoutEnd(text: string): string {
  let to = text.length
  while (text[to - 1] === '\n' || text[to - 1] === '\r') to--
  return text.slice(0, to)
}

function end(child: ChildProcess, isGroup: boolean): void {
  try {
    if (isGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    // it has just ended by itself
  }
}

/** A message may quote what was read; a code does not. */
const codeOf = (error: unknown): string =>
  String((error as { readonly code?: unknown } | undefined)?.code ?? 'unreadable')
