/** Where Workbox's types are expected ours do: held by the compiler, nothing here runs but the imports. */
import type { SerwistPlugin } from 'serwist'
import { expectTypeOf, test } from 'vitest'
import type { QueueOptions as TheirOptions } from 'workbox-background-sync/Queue.js'
import type { WorkboxPlugin } from 'workbox-core/types.js'
import { BackgroundSyncPlugin, Queue, type QueueEntry, type QueueOptions } from '../../../js/compat/workbox.ts'

test('BackgroundSyncPlugin is a plugin of a strategy', () => {
  expectTypeOf<BackgroundSyncPlugin>().toExtend<WorkboxPlugin>()
  expectTypeOf<BackgroundSyncPlugin>().toExtend<SerwistPlugin>()
  expectTypeOf(BackgroundSyncPlugin).constructorParameters.toEqualTypeOf<
    [name: string, options?: QueueOptions | undefined]
  >()
})

test('Queue takes what Workbox takes', () => {
  expectTypeOf(Queue).constructorParameters.toEqualTypeOf<[name: string, options?: QueueOptions | undefined]>()
  expectTypeOf<Omit<TheirOptions, 'onSync'>>().toExtend<QueueOptions>()
  // as users of Workbox write it
  expectTypeOf<{ onSync(given: { queue: Queue }): Promise<void> }>().toExtend<QueueOptions>()
  expectTypeOf<{ request: Request; timestamp?: number; metadata?: object }>().toExtend<QueueEntry>()
  expectTypeOf<Queue['shiftRequest']>().returns.toEqualTypeOf<Promise<QueueEntry | undefined>>()
  expectTypeOf<Queue['getAll']>().returns.toEqualTypeOf<Promise<QueueEntry[]>>()
})
