/** Messages between the processes of a store, on a channel beside that of its hints. Redis keeps none of them. */

import type { Broadcast } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { RedisPort } from './port.ts'

/** Between two tries to be heard, where the server does not let it listen. */
const AGAIN_MS = 5_000

export interface BroadcastOptions {
  readonly port: RedisPort
  readonly channel: string
  readonly clock: Clock
  /** Hears once that messages cannot be sent. */
  failed(error: unknown): void
}

/** undefined: the client cannot listen. */
export function broadcastOn({ port, channel, clock, failed }: BroadcastOptions): Broadcast | undefined {
  const { subscribe } = port
  if (!subscribe) return undefined
  let hasFailed = false
  const failedOnce = (error: unknown): void => {
    if (!hasFailed) failed(error)
    hasFailed = true
  }
  return {
    send(message) {
      port.call('SPUBLISH', [channel, message], channel).catch(failedOnce)
    },
    subscribe(listener) {
      let isOver = false
      let disarm = (): void => {}
      let end = async (): Promise<void> => {}
      // a connection that is lost hears nothing any more, either
      const leave = (): void => void end().catch(() => {})
      const begin = (): void => {
        subscribe(channel, (message) => listener(message.toString())).then(
          (ended) => {
            end = ended
            if (isOver) leave()
          },
          (error: unknown) => {
            failedOnce(error)
            if (!isOver) disarm = clock.after(AGAIN_MS, begin, true)
          },
        )
      }
      begin()
      return () => {
        isOver = true
        disarm()
        leave()
      }
    },
  }
}
