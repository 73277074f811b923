/** A policy as the code of those who would use it: a queue, the command line, the environment of a service. */

import { presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import { exactDuration } from 'redrive/internal'

export const CODE_KINDS = ['queue', 'cli', 'environment'] as const
export type CodeKind = (typeof CODE_KINDS)[number]
export const CODE_NAMES: Readonly<Record<CodeKind, string>> = {
  queue: 'RetryQueue',
  cli: 'Command line',
  environment: 'Environment',
}

/** The preset that a policy is, field for field. */
export function presetOf(policy: Partial<RetryPolicy>): string | undefined {
  const text = canonical(policy)
  return Object.entries(presets).find(([, preset]) => canonical(preset) === text)?.[0]
}

const canonical = (policy: object): string =>
  JSON.stringify(Object.entries(policy).sort(([a], [b]) => (a < b ? -1 : 1)))

export function codeOf(policy: Partial<RetryPolicy>, kind: CodeKind): string {
  if (kind === 'queue') return queueCode(policy)
  const settings = settingsOf(policy)
  const file = settings.file === undefined ? '' : `# policies.json:\n${settings.file.replace(/^/gm, '# ')}\n`
  if (kind === 'cli') {
    const flags = settings.settings.map(([name, value]) => `--${name} ${value}`)
    return `${file}npx @redrive/service serve ${flags.join(' ')}`
  }
  const lines = settings.settings.map(([name, value]) => `REDRIVE_${name.toUpperCase().replaceAll('-', '_')}=${value}`)
  return file + lines.join('\n')
}

function queueCode(policy: Partial<RetryPolicy>): string {
  const preset = presetOf(policy)
  const imports = preset === undefined ? 'RetryQueue' : 'presets, RetryQueue'
  const value = preset === undefined ? literal(policy) : `presets.${preset}`
  return `import { ${imports} } from 'redrive'\n\nconst queue = new RetryQueue({ policy: ${value} })`
}

/** An object as JavaScript is written: names without quotes, one field a line. */
function literal(policy: Partial<RetryPolicy>): string {
  const fields = Object.entries(policy).map(([name, value]) => `  ${keyOf(name)}: ${asCode(value)},`)
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`
}

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

function asCode(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asCode).join(', ')}]`
  if (typeof value === 'number') return numeral(value)
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  return JSON.stringify(value) ?? 'undefined'
}

const numeral = (value: number): string =>
  Number.isInteger(value) ? value.toLocaleString('en-US').replaceAll(',', '_') : String(value)

interface Settings {
  readonly settings: readonly (readonly [string, string])[]
  /** The content of policies.json, where one is needed. */
  readonly file?: string
}

/** The settings with which `redrive serve` has this default policy. */
function settingsOf(policy: Partial<RetryPolicy>): Settings {
  const preset = presetOf(policy)
  if (preset !== undefined) return { settings: [['default-policy', preset]] }
  const { strategy, baseMs, exponent, jitterMs, maxAttempts, policyId = 'own', ...rest } = policy
  const isFormula =
    strategy === 'polynomial' && baseMs !== undefined && exponent !== undefined && jitterMs !== undefined
  if (isFormula && Object.keys(rest).length === 0) {
    const limit = maxAttempts === undefined ? [] : [['default-retry-limit', String(maxAttempts - 1)] as const]
    return {
      settings: [
        ['default-backoff-base', exactDuration(baseMs)],
        ['default-backoff-exponent', String(exponent)],
        ['default-backoff-jitter', exactDuration(jitterMs)],
        ...limit,
      ],
    }
  }
  return {
    settings: [
      ['policies', 'policies.json'],
      ['default-policy', quoted(policyId)],
    ],
    file: JSON.stringify([{ ...policy, policyId }], undefined, 2),
  }
}

/** For a shell, where the name is not plain. */
const quoted = (name: string): string => (/^[\w.~-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`)
