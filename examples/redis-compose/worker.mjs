// Sends what other processes have enqueued, and what a process that died has left.
import { closeOnSignals } from 'redrive/node'
import { queue } from './queue.mjs'

queue.on('succeeded', ({ task }) => console.log(`${task.idempotencyKey}: sent, attempt ${task.attemptNumber}`))
queue.on('exhausted', ({ error }) => console.error(error.message))
closeOnSignals(queue) // finishes what is in flight, and leaves the rest in Redis
await queue.ready
console.log('works')
