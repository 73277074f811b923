/**
 * The part to read: sixty orders to a server that fails, placed through a queue. Runs in Node and in the page.
 *
 * Every order is an intent with a name of its own, so that the server can say afterwards how often each one arrived
 * and how often it took effect. Two of three are fetched and awaited; the third is enqueued.
 */

/** Short waits, so that the demo is over soon. Breaker, budget and all else are as they are by default. */
export const queueOptions = {
  concurrency: 4,
  policy: { maxAttempts: 8, initialDelayMs: 250, maxDelayMs: 2_000, jitterType: 'EQUAL' },
  preload: 'eager',
}

/** How badly the server behaves: three answers in ten fail, one in ten is slow. */
export const serverFaults = {
  share: 0.3,
  weights: { unavailable: 5, unavailable_retry_after: 1, too_many_requests: 1, reset_before: 3, reset_after: 3 },
  latencyMs: [60, 260],
  slowShare: 0.1,
  slowMs: 500,
}

/** Orders come in faster than the server takes them. */
export const betweenCallsMs = 45

/**
 * The same for `--inspect`, where a reader looks at each task: waits and answers take seconds, half of the answers fail, and a refusal is final,
 * so that there are dead letters.
 */
export const inspected = {
  queueOptions: {
    ...queueOptions,
    policy: { policyId: 'demo', maxAttempts: 6, initialDelayMs: 2_000, maxDelayMs: 20_000, jitterType: 'EQUAL' },
  },
  serverFaults: {
    share: 0.5,
    weights: { ...serverFaults.weights, refused: 3 },
    maxFaults: 8,
    retryAfterS: 3,
    latencyMs: [300, 1_500],
    slowShare: 0.1,
    slowMs: 2_500,
  },
  /** A server that is not there: every answer is a 503. */
  outage: {
    share: 1,
    weights: {
      unavailable: 1,
      unavailable_retry_after: 0,
      too_many_requests: 0,
      reset_before: 0,
      reset_after: 0,
      refused: 0,
    },
    maxFaults: 1_000,
    latencyMs: [20, 60],
    slowShare: 0,
  },
  betweenCallsMs: 250,
}

export function intentNames(count, first = 1) {
  return Array.from({ length: count }, (_, at) => `order-${String(at + first).padStart(3, '0')}`)
}

/** Places one order per intent, one every `everyMs`; resolves to how many of them were accepted. */
export async function placeOrders(queue, url, board, everyMs = betweenCallsMs) {
  const outcomes = board.calls.map(async (call, at) => {
    await new Promise((resolve) => setTimeout(resolve, at * everyMs))
    board.sent(call.intent)
    const accepted = await (call.via === 'enqueue' ? handOver(queue, url, call) : ask(queue, url, call)).catch(
      () => false,
    )
    board.ended(call.intent, accepted)
    return accepted
  })
  return (await Promise.all(outcomes)).filter(Boolean).length
}

/** The caller waits for the answer; retries happen underneath. */
async function ask(queue, url, { intent, via }) {
  const response = await queue.fetch(...order(url, intent, via))
  return response.ok && (await response.json()).intent === intent
}

/** The caller goes on with a receipt; here it asks for the outcome only to count it. */
async function handOver(queue, url, { intent, via }) {
  const receipt = await queue.enqueue(...order(url, intent, via))
  const { task } = await queue.result(receipt.taskId)
  return task.status === 'SUCCEEDED'
}

/** The request of an order, as `fetch` takes it. */
export function order(url, intent, via) {
  const headers = { 'content-type': 'application/json' }
  return [
    `${url}/api/orders?intent=${intent}&via=${via}`,
    { method: 'POST', headers, body: JSON.stringify({ intent, pieces: 3 }) },
  ]
}
