/** A Worker that takes orders and passes them on to an API that is not always there. */
import { objectName, RedriveObject, withRetry } from 'redrive/cloudflare'

/** Keeps the orders that the API could not take yet, and sends them when it can. */
export class Outbox extends RedriveObject {
  // asked before each attempt to the API, and to nothing else: a secret is never stored with an order
  options = {
    credentials: { [new URL(this.env.API).origin]: () => ({ authorization: `Bearer ${this.env.API_TOKEN}` }) },
  }
}

export default withRetry({
  async fetch(request, env, _, fetch) {
    const { method } = request
    const [, what, taskId] = new URL(request.url).pathname.split('/')
    if (what !== 'orders' || !(method === 'POST' || (method === 'GET' && taskId))) {
      return new Response('POST /orders, GET /orders/:taskId', { status: 404 })
    }
    if (method === 'POST') {
      // the API's own answer, or, once the order is safe, 202 with { taskId }
      return fetch(env.API, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${env.API_TOKEN}` },
        body: await request.text(),
      })
    }
    const outbox = env.REDRIVE.get(env.REDRIVE.idFromName(objectName(null, new URL(env.API).origin)))
    const task = await outbox.get(taskId)
    if (!task) return new Response(`no order ${taskId}`, { status: 404 })
    const story = (await outbox.explain(taskId)).map(({ text }) => text)
    return Response.json({ status: task.status, attempts: task.attemptNumber, story })
  },
})
