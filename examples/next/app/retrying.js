// One queue for the page and one for the server, made at the top of a module: importing and making it starts nothing.
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

export const retrying = wrapFetch(new RetryQueue({ policy: { initialDelayMs: 50 } }))
