// The dashboard and the rules as data: every expression in them, and which names and labels it uses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboards } from './programs.ts'

export interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly description: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource: { readonly type: string; readonly uid: string }
  readonly targets: readonly { readonly refId: string; readonly expr: string; readonly datasource: unknown }[]
  readonly fieldConfig: { readonly defaults: object; readonly overrides: readonly { matcher: { options: string } }[] }
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
}

const text = (name: string) => readFileSync(join(dashboards, name), 'utf8')

export const dashboardFile = text('redrive.json')
export const dashboard: Dashboard = JSON.parse(dashboardFile)
export const rules = text('redrive.rules.yml')
export const ruleTests = text('redrive.rules.test.yml')

/** Grafana's variables as it would fill them in. */
export const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*')

/** With the title of the panel that it is for. */
export const dashboardQueries: readonly (readonly [title: string, expr: string])[] = dashboard.panels.flatMap(
  ({ title, targets }) => targets.map(({ refId, expr }) => [`${title}, ${refId}`, filledIn(expr)] as const),
)

/** The expressions of the rules: what follows `expr:`, in one line or in a block that is indented deeper. */
export const ruleQueries: readonly string[] = [...rules.matchAll(/^( +)expr: (?:\|2\n((?:\1 +.*\n)+)|(.*)\n)/gm)].map(
  ([, , block, line]) => (block ?? line ?? '').trim(),
)

/** Metrics of an expression, of queues and of the service's store, those that rules record apart. */
export const metricsIn = (expr: string): string[] => expr.match(/(?<![\w:])(?:retry|redrive_store)_\w+/g) ?? []

/** Labels that an expression selects or groups by, and the values it compares them with. */
export function labelsIn(expr: string): { readonly names: string[]; readonly outcomes: string[] } {
  const selected = [...expr.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)]
  const grouped = [...expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((each) => each.trim()),
  )
  const outcomes = selected.filter(([, name]) => name === 'outcome').flatMap(([, , , value = '']) => value.split('|'))
  return { names: [...selected.map(([, name = '']) => name), ...grouped], outcomes }
}
