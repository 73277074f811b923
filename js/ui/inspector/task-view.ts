/** One task: its course as a picture and in words, what it is, and what may be done to it. Never a body: only that there is one. */

import { html, nothing } from 'lit'
import type { Decision } from 'redrive'
import { harmless, instant, kindWord } from 'redrive/internal'
import { actButton, doButton, outcomeOf, refusalOf } from './act-view.ts'
import { laneOf, nextOf, seconds } from './held.ts'
import type { InspectorTask, InspectorTaskView } from './source.ts'
import { timelineView } from './timeline-view.ts'
import type { View } from './view.ts'
import { clock, type Drawn, mark, STATUSES, urlOf } from './words.ts'

export function taskView(view: View): Drawn {
  const { opened, close } = view
  if (!opened) return nothing
  const { view: found, isGone } = opened
  return html`<section class="task" aria-label="Task" @keydown=${(event: KeyboardEvent) => closeOnEscape(event, view)}>
    <div class="bar">
      <h2 tabindex="-1">${found ? html`${harmless(found.task.method)} ${urlOf(found.task.targetUrl)}` : 'Task'}</h2>
      <button class="quiet close" aria-label="Close the task" @click=${close}>✕</button>
    </div>
    ${isGone ? html`<p class="notice warn" role="status">${found ? 'It is not kept any more; this is what it was.' : `There is no task ${harmless(opened.taskId)} here.`}</p>` : nothing}
    ${found ? wholeView(view, found, isGone ?? false) : isGone ? nothing : html`<p class="bone">&nbsp;</p>`}
  </section>`
}

function closeOnEscape(event: KeyboardEvent, { close }: View): void {
  if (event.key !== 'Escape') return
  event.preventDefault()
  close()
}

function wholeView(view: View, found: InspectorTaskView, isGone: boolean): Drawn {
  const { task, decisions } = found
  const { status, reason, attemptNumber } = task
  const { gate, until = null } = (status === 'PENDING' && decisions.at(-1)?.data) || {}
  const lane = laneOf(task, view.overview?.origins)
  const next = nextOf({ ...task, ...(gate && { gate, gateUntilAt: until }) }, lane, view.now)
  return html`<p class="line">
      ${mark(STATUSES[status])}${reason ? html`<span class="bad">${harmless(reason)}</span>` : nothing}
      <span>attempt ${attemptNumber}</span>${next ? html`<span class="warn">${harmless(next)}</span>` : nothing}
      <span class="soft">made ${seconds(view.now - task.createdAt)} ago</span>
    </p>
    ${actsView(view, task, isGone)} ${timelineView(found, view.now, view.width)}
    <h3>Why it is where it is</h3>
    <ol class="why">
      ${decisions.map(decisionView)}
    </ol>
    ${factsView(task)}`
}

function decisionView({ at, kind, text }: Decision): Drawn {
  return html`<li class=${kind === 'waits' ? kind : nothing}>
    <time class="soft" title=${instant(at)}>${clock(at)}</time> <b>${harmless(kindWord(kind))}</b> <span>${harmless(text)}</span>
  </li>`
}

function actsView(view: View, { taskId, status }: InspectorTask, isGone: boolean): Drawn {
  const key = (what: string): string => `${what} ${taskId}`
  const isLive = !isGone && (status === 'PENDING' || status === 'IN_FLIGHT')
  const isDead = !isGone && status === 'EXHAUSTED'
  const redrive = key('redrive')
  const { isKeyExpired } = view.acts.of(redrive)
  return html`<div class="bar">
      ${isLive && status === 'PENDING' ? doButton(view, key('due'), { type: 'due', taskId }, { label: 'Run now' }) : nothing}
      ${isLive ? doButton(view, key('cancel'), { type: 'cancel', taskId }, { label: 'Cancel', class: 'danger' }) : nothing}
      ${isDead ? doButton(view, redrive, { type: 'redrive', taskId }, { label: 'Redrive' }) : nothing}
      ${
        isDead && isKeyExpired
          ? doButton(
              view,
              redrive,
              { type: 'redrive', taskId, acceptDuplicateRisk: true },
              { label: 'Redrive all the same', class: 'danger' },
            )
          : nothing
      }
      ${
        isDead
          ? actButton(view, {
              type: 'purge',
              label: 'Delete…',
              class: 'danger',
              run: () => view.ask({ type: 'purge', taskId }),
            })
          : nothing
      }
      ${['due', 'cancel', 'redrive', 'purge'].map((what) => outcomeOf(view, key(what)))}
    </div>
    ${isLive ? refusalOf(view, 'due', 'cancel') : isDead ? refusalOf(view, 'redrive', 'purge') : nothing}`
}

function factsView(task: InspectorTask): Drawn {
  const { principal, deadlineAt, priority, tags, meta, bodyRef, withheldHeaders } = task
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', task.taskId],
    ['key', task.idempotencyKey ?? 'none: its method is safe to repeat'],
    ['principal', principal ?? 'none'],
    ['policy', task.policyId],
    ['made', instant(task.createdAt)],
    ['deadline', deadlineAt ? instant(deadlineAt) : undefined],
    ['order', task.orderKey],
    ['priority', priority ? `${priority}` : undefined],
    ['tags', tags?.join(', ')],
    ['meta', meta && JSON.stringify(meta)],
    ['body', bodyRef === undefined ? 'none' : 'there is one; it is not shown'],
  ]
  const headers = Object.entries(task.headers)
  return html`<h3>What it is</h3>
    ${pairs(facts)}
    <h3>Headers</h3>
    ${headers.length > 0 ? pairs(headers) : html`<p class="soft">None are stored.</p>`}
    ${
      withheldHeaders.length > 0
        ? html`<p class="soft">Withheld, neither stored nor shown: <span class="mono">${harmless(withheldHeaders.join(', '))}</span></p>`
        : nothing
    }`
}

const pairs = (facts: readonly (readonly [string, string | undefined])[]): Drawn =>
  html`<dl class="facts">
    ${facts.map(([name, value]) =>
      value === undefined
        ? nothing
        : html`<div>
            <dt>${harmless(name)}</dt>
            <dd class="mono">${harmless(value)}</dd>
          </div>`,
    )}
  </dl>`
