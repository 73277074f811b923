// Prometheus and promtool as their own processes, on loopback and in a folder of their own, gone when the test is over.

import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freshFolder } from '../folder.ts'
import { freePort } from '../servers/free-port.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))
export const dashboards = join(root, 'docs', 'dashboards')

function program(name: 'prometheus' | 'promtool'): string {
  const folder = process.env.PROMETHEUS_PATH
  if (!folder) throw new Error('PROMETHEUS_PATH says where prometheus and promtool are; `npm test -- metrics` sets it')
  return join(folder, name)
}

/** Runs promtool to its end; `output` is all that it wrote. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly code: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync(program('promtool'), args, { input, encoding: 'utf8' })
  if (error) throw error
  return { code: status, output: stdout + stderr }
}

/** A server of ours as a process; resolves with its address. */
export async function startNode(script: string, ...words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(root, script), ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line).url
  throw new Error(`${script} ended before it was ready`)
}

export interface Prometheus {
  /** What its HTTP API answers: `data` of a success. */
  api(path: string, params?: Readonly<Record<string, string>>): Promise<unknown>
  /** Names of the alerts that fire, with their job. */
  firing(): Promise<readonly string[]>
}

/** Scrapes and evaluates every half second. `targets`: job -> address. */
export async function startPrometheus(targets: Readonly<Record<string, string>>, rules: string): Promise<Prometheus> {
  const folder = freshFolder()
  const jobs = Object.entries(targets).map(([job, url]) => ({
    job_name: job,
    static_configs: [{ targets: [new URL(url).host] }],
  }))
  // JSON is YAML
  const global = { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' }
  writeFileSync(join(folder, 'rules.yml'), rules)
  const config = { global, rule_files: ['rules.yml'], scrape_configs: jobs }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const url = `http://127.0.0.1:${await freePort()}`
  const flags = {
    'config.file': join(folder, 'prometheus.yml'),
    'storage.tsdb.path': join(folder, 'data'),
    'web.listen-address': new URL(url).host,
    'log.level': 'error',
  }
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  const child = spawn(program('prometheus'), words, { stdio: ['ignore', 'ignore', 'inherit'] })
  // by its own id, and before its folder goes
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  })
  const api: Prometheus['api'] = async (path, params = {}) => {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(params)}`)
    const { status, data, error } = await response.json()
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(params)}: ${error}`)
    return data
  }
  const firing = async () => {
    const { alerts } = (await api('alerts')) as { alerts: { state: string; labels: Record<string, string> }[] }
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => `${labels.alertname} ${labels.job}`)
  }
  return { api, firing }
}
