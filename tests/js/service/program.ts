/** The program itself, as a process: started, asked, told to stop. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freshFolder } from '../../folder.ts'

export const CLI: string = fileURLToPath(new URL('../../../js/cli.ts', import.meta.url))

type Line = { readonly event: string; readonly [field: string]: unknown }

export interface Program {
  readonly url: string
  readonly child: ChildProcess
  readonly lines: readonly Line[]
  /** Resolves with the first line of this event, past or to come. */
  logged(event: string): Promise<Line>
  readonly exit: Promise<number | null>
  readonly stderr: () => string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const entry = (text: string, tenant: string) => ({
  sha256: sha256(text),
  tenant,
  name: tenant,
  scopes: ['tasks:read', 'tasks:write'],
})

export function folder(files: Readonly<Record<string, unknown>> = {}): string {
  const path = freshFolder()
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(path, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return path
}

/** Like `CLI`, with the files of the inspector in the folder that a variable names: a checkout has them in no folder. */
export const WITH_UI: string = fileURLToPath(new URL('./cli-with-ui.ts', import.meta.url))

function begin(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>, script = CLI) {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('REDRIVE_')))
  const child = spawn(process.execPath, [script, ...args], { cwd, env: { ...own, ...env } })
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exit
  })
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += data
  })
  return { child, exit, stderr: () => stderr }
}

export async function run(
  args: readonly string[],
  cwd: string = folder(),
  env: Readonly<Record<string, string>> = {},
  script: string = CLI,
): Promise<Ended> {
  const { child, exit, stderr } = begin(args, cwd, env, script)
  let stdout = ''
  child.stdout.on('data', (data) => {
    stdout += data
  })
  return { code: await exit, stdout, stderr: stderr() }
}

/** Starts the service on a free port; resolves when it says that it is ready. */
export async function start(
  args: readonly string[] = [],
  cwd: string = folder(),
  env: Readonly<Record<string, string>> = {},
  script: string = CLI,
): Promise<Program> {
  const { child, exit, stderr } = begin(['--port', '0', '--log-format', 'json', ...args], cwd, env, script)
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  let rest = ''
  child.stdout.on('data', (data) => {
    const parts = `${rest}${data}`.split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((part) => JSON.parse(part) as Line))
    for (const look of waiting) look()
  })
  const logged = (event: string): Promise<Line> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const line = lines.find((each) => each.event === event)
        if (!line) return
        waiting.delete(look)
        resolve(line)
      }
      waiting.add(look)
      look()
      exit.then((code) =>
        reject(new Error(`it ended with ${code} before '${event}': ${stderr()}${JSON.stringify(lines)}`)),
      )
    })
  await logged('ready')
  const { url } = await logged('listening')
  return { url: String(url), child, lines, logged, exit, stderr }
}

export async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

export const post = (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
