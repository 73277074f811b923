// Enqueues orders and ends: node enqueue.mjs [how many] [the first number]
import { orders, queue } from './queue.mjs'

const [count = 20, first = 1] = process.argv.slice(2).map(Number)
queue.pause() // this process sends nothing: the workers do
const receipts = Array.from({ length: count }, (_, i) => {
  const order = `order-${first + i}`
  const init = { method: 'POST', body: JSON.stringify({ order }), redrive: { idempotencyKey: order } }
  return queue.enqueue(orders, init)
})
const { durability } = (await Promise.all(receipts))[0]
console.log(`${count} orders in Redis (${durability})`)
await queue.close()
