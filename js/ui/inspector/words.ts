/** The words and small pieces of text that all parts of the inspector use. Every text of others passes `harmless`. */

import { html, type nothing, type TemplateResult } from 'lit'
import type { CircuitState, TaskStatus } from 'redrive'
import { harmless, instant, STATUS_WORDS } from 'redrive/internal'

export type Drawn = TemplateResult | typeof nothing | string

export const STATUSES: Readonly<Record<TaskStatus, readonly [word: string, tone: string]>> = {
  PENDING: [STATUS_WORDS.PENDING, 'warn'],
  IN_FLIGHT: [STATUS_WORDS.IN_FLIGHT, 'accent'],
  EXHAUSTED: [STATUS_WORDS.EXHAUSTED, 'bad'],
  SUCCEEDED: [STATUS_WORDS.SUCCEEDED, 'good'],
  CANCELLED: [STATUS_WORDS.CANCELLED, 'soft'],
}

export const CIRCUITS: Readonly<Record<CircuitState, readonly [word: string, tone: string]>> = {
  CLOSED: ['closed', 'good'],
  HALF_OPEN: ['half-open', 'warn'],
  OPEN: ['open', 'bad'],
}

/** A word with its colour. */
export const mark = ([word, tone]: readonly [string, string]): TemplateResult =>
  html`<span class="mark ${tone}">${word}</span>`

/** The host of a URL is the same for most: what comes after it tells tasks apart. `isShort`: of https nothing is said. */
export function urlOf(targetUrl: string, isShort = false): TemplateResult {
  const [, origin = '', rest = targetUrl] = /^([a-z]+:\/\/[^/?#]*)(.*)$/s.exec(targetUrl) ?? []
  return html`<span class="soft">${harmless(isShort ? origin.replace(/^https:\/\//, '') : origin)}</span>${harmless(rest)}`
}

/** The time of day, in UTC, as `explain` has it. */
export const clock = (at: number): string => instant(at).slice(11)
