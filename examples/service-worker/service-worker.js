/** Sends the messages that closed pages have left, as soon as there is a network. */
import { RetryQueue, registerBackgroundSync } from './node_modules/redrive/service-worker.js'

registerBackgroundSync(new RetryQueue({ name: 'messages' })) // where the API wants a token: with `credentials`
