/**
 * How an adapter for one more HTTP library is written: one `makeCall` of the request it has read, one class with the
 * methods of `Repeatable`, and one with those of `RepeatAnswer`. The library here is `Client`, which is got, ky or undici
 * cut down to a function. Nothing of fetch is used.
 */

import { expect, test } from 'vitest'
import { type CallContext, makeCall } from '../../js/call/call.ts'
import type { Acceptance, AttemptInit, FetchForm, RepeatAnswer, Repeatable } from '../../js/call/transport.ts'
import type { RetryQueue } from '../../js/index.ts'
import type { TaskOptions } from '../../js/options/task-options.ts'
import { taskPolicies } from '../../js/options/task-policies.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import { forApi, setup, watch } from './setup.ts'

// the library

interface ClientRequest {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string | null
  readonly signal: AbortSignal | undefined
}

interface ClientResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
}

type Client = (request: ClientRequest) => Promise<ClientResponse>

/** An error of the network has a code; any other is of the caller's own making. */
class ClientError extends Error {
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

// the adapter

class ClientAnswer implements RepeatAnswer {
  readonly redirectRefused = false
  readonly #response: ClientResponse

  constructor(response: ClientResponse) {
    this.#response = response
  }

  get status(): number {
    return this.#response.status
  }

  header(name: string): string | null {
    return this.#response.headers[name] ?? null
  }

  deliver(): ClientResponse {
    return this.#response
  }

  /** No Response: callers who joined the task share the answer. */
  clone(): null {
    return null
  }

  /** The library has read the answer to its end. */
  rest(): undefined {}

  discard(): void {}
}

class ClientTransport implements Repeatable {
  readonly #client: Client
  readonly #request: Omit<ClientRequest, 'headers' | 'signal'>
  readonly #headers: Headers

  constructor(client: Client, request: Omit<ClientRequest, 'headers' | 'signal'>, headers: Headers) {
    this.#client = client
    this.#request = request
    this.#headers = headers
  }

  async send({ overlay, signal }: AttemptInit): Promise<ClientAnswer> {
    const headers = Object.fromEntries([...this.#headers, ...(overlay ?? [])])
    return new ClientAnswer(await this.#client({ ...this.#request, headers, signal }))
  }

  isFinal(error: unknown): boolean {
    return !(error instanceof ClientError && error.code !== undefined)
  }

  putHeader(name: string, value: string): void {
    this.#headers.set(name, value)
  }

  body(): string | null {
    return this.#request.body
  }

  asFetch(): FetchForm {
    return { init: {}, withheld: [], isWhole: true }
  }

  accepted({ taskId, traceId, durability }: Acceptance): ClientResponse {
    const headers = { 'redrive-task-id': taskId }
    return { status: 202, headers, text: JSON.stringify({ status: 'queued', taskId, traceId, durability }) }
  }

  async answered(response: Response): Promise<ClientResponse> {
    const { status, headers } = response
    return { status, headers: Object.fromEntries(headers), text: await response.text() }
  }

  adopt(answer: ClientAnswer): ClientAnswer {
    return answer
  }
}

type Send = (request: Partial<ClientRequest>, redrive?: TaskOptions) => Promise<ClientResponse>

function wrapClient(queue: RetryQueue, client: Client): Send {
  const { host, run } = internalsOf(queue)
  return async (request, redrive = {}) => (await run(callOf(request, redrive, client, host))) as ClientResponse
}

function callOf(request: Partial<ClientRequest>, options: TaskOptions, client: Client, context: CallContext) {
  const { method = 'GET', url = '', body = null, signal = null } = request
  const headers = new Headers(request.headers)
  const policies = taskPolicies(context, options)
  const { origin } = new URL(url)
  const complete = makeCall(context, { method, url, origin, headers, options, ...policies, signal })
  // here another adapter would wait for its body
  const bytes = new TextEncoder().encode(body ?? '').byteLength
  const transport = new ClientTransport(client, { method, url, body }, headers)
  return complete({ hasBody: body !== null, bytes, transport })
}

// what it can do

type Reply = ClientResponse | Error | 'silence'

/** A client that answers with one reply after another. */
function scripted(...replies: readonly Reply[]) {
  const requests: ClientRequest[] = []
  const client: Client = (request) => {
    const reply = replies[requests.push(request) - 1] ?? 'silence'
    if (reply instanceof Error) return Promise.reject(reply)
    if (reply !== 'silence') return Promise.resolve(reply)
    return new Promise((_, reject) => {
      request.signal?.addEventListener('abort', () => reject(request.signal?.reason))
    })
  }
  return { client, requests }
}

const answer = (status: number, text = '', headers: Record<string, string> = {}): ClientResponse => ({
  status,
  headers,
  text,
})
const ORDER = { method: 'POST', url: 'https://api.test/orders', body: '{"item":1}' }

test('a call is tried again, and its caller has the client’s own answer', async () => {
  const { queue, clock, events } = await setup()
  const { client, requests } = scripted(answer(503), answer(201, 'made'))
  const send = watch(wrapClient(queue, client)(ORDER))
  await clock.advance(1_000)
  expect(send.value).toEqual(answer(201, 'made'))
  expect(requests.map(({ body }) => body)).toEqual([ORDER.body, ORDER.body])
  expect(events.names()).toEqual(['queued', 'retry', 'attempt', 'succeeded'])
})

test('every attempt carries the same idempotency key', async () => {
  const { queue, clock } = await setup()
  const { client, requests } = scripted(answer(503), answer(200))
  watch(wrapClient(queue, client)(ORDER))
  await clock.advance(1_000)
  const [first, second] = requests.map(({ headers }) => headers['idempotency-key'])
  expect(first).toMatch(/^[\da-f]{32}$/)
  expect(second).toBe(first)
})

test('a key made of the content is put where the client sends it', async () => {
  const { queue } = await setup({ idempotency: { mode: 'content', scope: 'all' } })
  const { client, requests } = scripted(answer(200))
  await wrapClient(queue, client)(ORDER)
  expect(requests[0]?.headers['idempotency-key']).toMatch(/\S/)
})

test('a server’s Retry-After is read from the client’s answer', async () => {
  const { queue, clock } = await setup()
  const { client, requests } = scripted(answer(503, '', { 'retry-after': '20' }), answer(200))
  watch(wrapClient(queue, client)(ORDER))
  await clock.advance(19_999)
  expect(requests).toHaveLength(1)
  await clock.advance(10_000)
  expect(requests).toHaveLength(2)
})

test('credentials are laid over the headers of a retry', async () => {
  const { queue, clock } = await setup({ credentials: forApi(async () => ({ authorization: 'Bearer new' })) })
  const { client, requests } = scripted(answer(503), answer(200))
  watch(wrapClient(queue, client)({ ...ORDER, headers: { authorization: 'Bearer old' } }))
  await clock.advance(1_000)
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new'])
})

test('an error of the network is tried again, one of the caller’s own making is not', async () => {
  const { queue, clock } = await setup()
  const lost = scripted(new ClientError('the connection broke', 'ECONNRESET'), answer(200))
  const wrong = scripted(new ClientError('no such option'), answer(200))
  const [again, never] = [lost, wrong].map(({ client }) => watch(wrapClient(queue, client)(ORDER)))
  await clock.advance(1_000)
  expect(again?.value).toEqual(answer(200))
  expect(never?.error).toMatchObject({ message: 'no such option' })
  expect(wrong.requests).toHaveLength(1)
})

test('an abort reaches the attempt that is under way, and ends the task', async () => {
  const { queue, clock, events } = await setup()
  const { client, requests } = scripted(answer(503), 'silence')
  const controller = new AbortController()
  const send = watch(wrapClient(queue, client)({ ...ORDER, signal: controller.signal }))
  await clock.advance(1_000)
  controller.abort(new Error('the user left'))
  await clock.settle()
  expect(send.error).toMatchObject({ message: 'the user left' })
  expect(requests[1]?.signal?.aborted).toBe(true)
  expect(events.names()).toContain('cancelled')
})

test('a caller who defers gets the adapter’s own 202', async () => {
  const { queue, clock } = await setup()
  const { client } = scripted(answer(503), answer(200))
  const send = watch(wrapClient(queue, client)(ORDER, { mode: 'defer' }))
  await clock.settle()
  const [task] = (await queue.list()).tasks
  expect(send.value).toMatchObject({ status: 202, headers: { 'redrive-task-id': task?.taskId } })
})
