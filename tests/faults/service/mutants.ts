/**
 * The service, wrong in one way each, to see that the judge of a run notices: a text of one of its sources is replaced by another one while
 * it is loaded. A text that is not there any more fails the start, so no mutant can become harmless unseen.
 */

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

interface Change {
  /** A source, from the root of the checkout. */
  readonly file: string
  readonly from: string
  readonly to: string
}

const HAND_OVER = 'js/service/api/hand-over.ts'
const NEW_TASK = 'js/service/api/new-task.ts'
const CALLBACKS = 'js/service/callbacks.ts'
const RULES = 'await policies.resolve(policyId, caller.tenant, task.policy)'

const CHANGES = {
  // H1
  'forgets-posts': [
    {
      file: HAND_OVER,
      from: 'const { events, store } = first.exchange.context',
      // each third time: by chance it would now and then be none, where many wait at once
      to: `const { events } = first.exchange.context
    const store = { enqueue: (tasks) => (globalThis.stored = 1 + (globalThis.stored ?? 0)) % 3 === 1
      ? tasks.map(({ taskId }) => ({ outcome: 'stored', taskId }))
      : first.exchange.context.store.enqueue(tasks) }`,
    },
  ],
  // H4; of files alone
  'leases-twice': [
    {
      file: 'js/stores/sql/transaction.ts',
      from: 'leaseUntil <= ? ORDER BY token`, this.now)',
      to: 'leaseUntil <= ? ORDER BY token`, this.now + 1e9)',
    },
    { file: 'js/stores/engine/sweep.ts', from: "note(tx, row, 'lost')", to: '' },
  ],
  // H6
  'new-keys': [
    {
      file: 'js/durable/record.ts',
      from: 'putKey(headers, key, keyFormOf(record))',
      to: "putKey(headers, key + '-' + record.attemptNumber, keyFormOf(record))",
    },
  ],
  // H7
  'takes-conflicts': [
    { file: NEW_TASK, from: 'fingerprint: fingerprintOf(exchange)', to: "fingerprint: '0'.repeat(64)" },
  ],
  // H8
  'no-limit': [
    {
      file: 'js/service/serve.ts',
      from: 'concurrencyPerOrigin: settings.concurrencyPerOrigin',
      to: 'concurrencyPerOrigin: 100',
    },
  ],
  // H9
  'goes-on': [{ file: NEW_TASK, from: RULES, to: `{ ...(${RULES}), maxAttempts: 30 }` }],
  'ignores-pauses': [{ file: 'js/service/api/handlers/control.ts', from: 'await pauses.put(pause)', to: '' }],
  'says-cancelled': [
    {
      file: 'js/service/api/handlers/tasks.ts',
      from: 'await context.queue.cancel(taskId, ALL)',
      to: "'cancelled' as string",
    },
  ],
  // H10
  'ignores-waits': [
    {
      file: 'js/durable/settle.ts',
      from: "if (kind === 'retry') return { kind, delayMs, serverMs, carry }",
      to: "if (kind === 'retry') return { kind, delayMs: 0, serverMs: 0, carry }",
    },
    {
      file: 'js/durable/settle.ts',
      from: 'ruling.holdMs > 0 ? { holdLaneForMs',
      to: 'ruling.holdMs > 1e9 ? { holdLaneForMs',
    },
  ],
  // H11
  'forgets-orders': [{ file: NEW_TASK, from: '...(orderKey !== undefined && { orderKey }),', to: '' }],
  // H12
  'hides-dead': [
    {
      file: 'js/service/api/list-page.ts',
      from: 'showListed(page.tasks, context)',
      to: "showListed(filter.status === 'EXHAUSTED' ? page.tasks.slice(1) : page.tasks, context)",
    },
  ],
  // H13; the moment between the two is long here, so that a kill is sure to fall into it
  'tells-first': [
    {
      file: CALLBACKS,
      from: 'const outcomes = await this.#stored(made)',
      to: `await store.told(ends.map(({ task, endedAt }) => ({ taskId: task.taskId, endedAt })))
        await new Promise((done) => setTimeout(done, 2_000))
        const outcomes = await this.#stored(made)`,
    },
  ],
  'tells-anew': [
    { file: CALLBACKS, from: 'idempotencyKey: `cb-', to: 'idempotencyKey: Math.random() + `cb-' },
    { file: CALLBACKS, from: 'idOf(task.taskId, endedAt)', to: 'idOf(String(Math.random()), endedAt)' },
    { file: CALLBACKS, from: 'if (done.length > 0) await', to: 'if (done.length > 0 && Math.random() < 0.5) await' },
  ],
  'tells-all': [{ file: CALLBACKS, from: '!as || !callback.on.includes(as)', to: '!as' }],
  'tells-success': [
    { file: CALLBACKS, from: 'const as = endOf(task.status)', to: "const as = endOf(task.status) && 'succeeded'" },
  ],
  'signs-no-time': [{ file: 'js/service/signing.ts', from: '.update(content)', to: '.update(body)' }],
  // the end of a process
  'cuts-answers': [
    {
      file: 'js/service/serve.ts',
      from: 'service.leave()\n',
      to: 'service.leave(); for (const listener of listeners) listener.cut()\n',
    },
  ],
} as const satisfies Readonly<Record<string, readonly Change[]>>

export type Mutant = keyof typeof CHANGES

export const MUTANTS: readonly Mutant[] = Object.keys(CHANGES) as Mutant[]

export const isMutant = (name: string | undefined): name is Mutant => name !== undefined && Object.hasOwn(CHANGES, name)

const root = new URL('../../../', import.meta.url)

/** The source that each change of a mutant leaves. Throws where it finds no place for one. */
export function sourcesOf(name: Mutant): readonly string[] {
  const changes: readonly Change[] = CHANGES[name]
  return changes.map((change) => changed(readFileSync(new URL(change.file, root), 'utf8'), change))
}

/** Changes what is loaded from now on. */
export function applyMutant(name: string): void {
  if (!isMutant(name)) throw new RangeError(`there is no mutant '${name}': expected ${MUTANTS.join(', ')}`)
  const changes: readonly Change[] = CHANGES[name]
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const own = changes.filter(({ file }) => url === new URL(file, root).href)
      if (own.length === 0) return loaded
      const source = own.reduce((text, change) => changed(text, change), textOf(loaded.source))
      return { ...loaded, source }
    },
  })
}

function textOf(source: unknown): string {
  if (typeof source === 'string') return source
  return Buffer.from(source as Uint8Array).toString('utf8')
}

function changed(text: string, { file, from, to }: Change): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${file} has '${from}' ${parts.length - 1} times, and a mutant needs it once`)
  return parts.join(to)
}
