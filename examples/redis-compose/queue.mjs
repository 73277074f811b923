// The queue as every process opens it: the same store, the same options.
import { createClient } from 'redis'
import { RetryQueue } from 'redrive'
import { redisStore } from 'redrive/redis'

const { REDIS_URL = 'redis://127.0.0.1:6379', API_TOKEN = 'none', API_URL = 'http://127.0.0.1:3000' } = process.env

export const orders = `${API_URL}/orders`
export const queue = new RetryQueue({
  store: redisStore({ client: createClient({ url: REDIS_URL }), name: 'orders' }),
  concurrency: 8, // attempts at a time, in all processes together
  // asked before each attempt; never stored
  credentials: { [new URL(API_URL).origin]: () => ({ authorization: `Bearer ${API_TOKEN}` }) },
})
queue.on('degraded', ({ code, message }) => console.warn(code, message))
