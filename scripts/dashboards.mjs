// `node scripts/dashboards.mjs`: writes docs/dashboards/redrive.json, the dashboard that Grafana imports, from the table of
// panels below. The file is kept so that users can take it as it is; tests/metrics/ holds it to what is printed here.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from './lib/paths.mjs'
import { isEntry } from './lib/steps.mjs'

/** Those of the rules beside it. */
const rules = readFileSync(at('docs', 'dashboards', 'redrive.rules.yml'), 'utf8')
const alerts = [...rules.matchAll(/^\s*- alert: (\w+)$/gm)].map(([, name]) => name)

// Grafana's own variables, not JavaScript's
const datasource = { type: 'prometheus', uid: `\${datasource}` }

/** A metric of the chosen jobs and instances; `only`: more that its labels must be. */
const of = (metric, only = '') => `${metric}{job=~"$job", instance=~"$instance"${only && `, ${only}`}}`
const rate = (metric, only) => `rate(${of(metric, only)}[$__rate_interval])`
const attempts = `sum(${rate('retry_attempts_total')})`
const retries = `sum(${rate('retry_retries_total')})`
const failures = `sum(${rate('retry_attempts_total', 'outcome!~"success|client_error|cancelled|refused"')})`

/** Lines for the half, nineteen of twenty and ninety-nine of a hundred. */
const quantiles = (metric, only) =>
  [50, 95, 99].map((share) => [
    `p${share}`,
    `histogram_quantile(${share / 100}, sum by (le) (${rate(`${metric}_bucket`, only)}))`,
  ])

/** A number of a store: each of its processes tells it, so that a sum would count it once for each. */
const once = (metric) => `sum(max by (job, queue) (${of(metric)}))`

const capacity = once('retry_queue_capacity')
const ruled = { 'custom.fillOpacity': 0, 'custom.lineStyle': { fill: 'dash', dash: [10, 10] } }
const atTheRight = { 'custom.axisPlacement': 'right', unit: 'percentunit', max: 1 }

/** Two in a row. `series`: a legend and its expression; `looks`: a legend and what differs for it from the panel. */
const panels = [
  {
    title: 'Retries against the upstream’s error rate',
    description: 'Retries should rise with errors and fall with them. Retries that rise while errors stay are a storm.',
    unit: 'reqps',
    series: [
      ['first attempts', `${attempts} - ${retries}`],
      ['retries', retries],
      ['error rate', `${failures} / ${attempts}`],
    ],
    looks: {
      'first attempts': { color: 'blue' },
      retries: { color: 'orange' },
      'error rate': { ...atTheRight, color: 'red', 'custom.fillOpacity': 0 },
    },
  },
  {
    title: 'Attempts by outcome',
    description: 'All requests sent, stacked.',
    unit: 'reqps',
    custom: { lineWidth: 1, fillOpacity: 60, stacking: { mode: 'normal', group: 'A' } },
    series: [['{{outcome}}', `sum by (outcome) (${rate('retry_attempts_total')})`]],
    looks: {
      success: { color: 'green' },
      server_error: { color: 'red' },
      network_error: { color: 'dark-red' },
      timeout: { color: 'purple' },
      rate_limited: { color: 'orange' },
    },
  },
  {
    title: 'Waiting tasks against capacity',
    description:
      'Tasks waiting or in flight, and dead letters, of the process that tells most: all of a store tell the same. Where both together reach the line, calls that fail are not kept any more; the alert is at 80 % of it.',
    series: [
      ['waiting or in flight', once('retry_queue_depth')],
      ['dead letters', once('retry_dead_letters')],
      ['capacity', capacity],
      ['80 %', `0.8 * ${capacity}`],
    ],
    looks: {
      'waiting or in flight': { color: 'blue' },
      'dead letters': { color: 'purple' },
      capacity: { color: 'red', ...ruled },
      '80 %': { color: 'orange', ...ruled },
    },
  },
  {
    title: 'Age of tasks at their end',
    description:
      'From the call to its end, whatever the end was. Half, nineteen of twenty, ninety-nine of a hundred are younger.',
    unit: 's',
    series: quantiles('retry_task_age_seconds'),
  },
  {
    title: 'Dead letters',
    description: 'Given up and kept, and how many come in a minute; the alert is at 5.',
    series: [
      ['kept', once('retry_dead_letters')],
      ['given up a minute', `sum(${rate('retry_task_age_seconds_count', 'outcome="exhausted"')}) * 60`],
    ],
    looks: { kept: { color: 'blue' }, 'given up a minute': { color: 'red' } },
  },
  {
    title: 'Breaker by origin',
    description: 'The worst over all instances.',
    series: [['{{origin}}', `max by (origin) (${of('retry_circuit_state')})`]],
    states: [
      ['closed', 'green'],
      ['half-open', 'yellow'],
      ['open', 'red'],
    ],
  },
  {
    title: 'Retry budget by origin',
    description: 'Tokens left where they are fewest. At nought retries wait for the next success.',
    series: [['{{origin}}', `min by (origin) (${of('retry_budget_tokens')})`]],
  },
  {
    title: 'Latency of attempts',
    description: 'To the headers of the response, of those that were answered with a success.',
    unit: 's',
    series: quantiles('retry_attempt_duration_seconds', 'outcome="success"'),
  },
]

const override = ([legend, look]) => ({
  matcher: { id: 'byName', options: legend },
  properties: Object.entries(look).map(([id, value]) => ({
    id,
    value: id === 'color' ? { mode: 'fixed', fixedColor: value } : value,
  })),
})

/** A line over time. */
const lines = ({ custom, unit = 'short', looks = {} }) => ({
  type: 'timeseries',
  fieldConfig: {
    defaults: {
      color: { mode: 'palette-classic' },
      custom: { drawStyle: 'line', lineWidth: 2, fillOpacity: 8, showPoints: 'never', spanNulls: false, ...custom },
      unit,
      min: 0,
    },
    overrides: Object.entries(looks).map(override),
  },
  options: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
})

/** A row of colours over time, where the values 0, 1, 2 are states. */
const timeline = (states) => ({
  type: 'state-timeline',
  fieldConfig: {
    defaults: {
      color: { mode: 'thresholds' },
      custom: { fillOpacity: 80, lineWidth: 0 },
      unit: 'short',
      min: 0,
      thresholds: { mode: 'absolute', steps: states.map(([, color], i) => ({ color, value: i === 0 ? null : i })) },
      mappings: [
        { type: 'value', options: Object.fromEntries(states.map(([text], index) => [index, { text, index }])) },
      ],
    },
    overrides: [],
  },
  options: {
    mergeValues: true,
    showValue: 'auto',
    rowHeight: 0.9,
    alignValue: 'left',
    legend: { displayMode: 'list', placement: 'bottom', showLegend: false },
    tooltip: { mode: 'single', sort: 'none' },
  },
})

const panel = ({ title, description, series, states, ...look }, i) => ({
  id: i + 1,
  title,
  description,
  datasource,
  gridPos: { x: (i % 2) * 12, y: Math.floor(i / 2) * 8, w: 12, h: 8 },
  targets: series.map(([legendFormat, expr], at) => ({
    datasource,
    editorMode: 'code',
    expr,
    legendFormat,
    range: true,
    refId: 'ABC'[at],
  })),
  ...(states ? timeline(states) : lines(look)),
})

/** A variable that is filled with the values of a label. */
const choice = (name, label, query) => ({
  name,
  label,
  type: 'query',
  datasource,
  definition: query,
  query: { query, refId: name },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { selected: true, text: ['All'], value: ['$__all'] },
})

const dashboard = {
  uid: 'redrive',
  title: 'redrive',
  description: 'What the retry queues do, and how the servers they call are.',
  tags: ['redrive'],
  schemaVersion: 38,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: '30s',
  timezone: 'browser',
  time: { from: 'now-1h', to: 'now' },
  annotations: {
    list: [
      {
        name: 'Alerts of redrive',
        enable: true,
        hide: false,
        iconColor: 'red',
        datasource,
        expr: `ALERTS{alertname=~"${alerts.join('|')}", alertstate="firing"}`,
        titleFormat: '{{alertname}}',
        textFormat: '{{job}} {{instance}}',
        step: '30s',
      },
    ],
  },
  templating: {
    list: [
      { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus', refresh: 1, current: {} },
      choice('job', 'Job', 'label_values(retry_queue_depth, job)'),
      choice('instance', 'Instance', 'label_values(retry_queue_depth{job=~"$job"}, instance)'),
    ],
  },
  panels: panels.map(panel),
}

/** The file: a line for each panel. */
export function text() {
  const { panels, ...head } = dashboard
  const rows = panels.map((each) => JSON.stringify(each)).join(',\n')
  return `${JSON.stringify(head).slice(0, -1)},"panels":[\n${rows}\n]}\n`
}

if (isEntry(import.meta.url)) writeFileSync(at('docs', 'dashboards', 'redrive.json'), text())
