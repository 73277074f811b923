/** What may be wrong where there is no more room, on purpose, each in one way: what the checks are there to notice. */

import { RedriveError } from '../../js/api/errors.ts'
import { StorePlace } from '../../js/durable/admission.ts'
import { enqueued, store, type Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

const { enqueue } = StorePlace.prototype

export const WRONG_ROOM: readonly Wrong[] = [
  {
    what: 'room is made by deleting what waits',
    breaks: 'S17',
    breaking: enqueued(async (whole, tasks, lease) => {
      const answers = await whole.enqueue(tasks, lease)
      if (!answers.some(({ outcome }) => outcome === 'full')) return answers
      const [oldest] = (await whole.list({ status: 'PENDING', limit: 1 })).tasks
      if (oldest) await whole.purge({ taskId: oldest.taskId })
      return whole.enqueue(tasks, lease)
    }),
  },
  {
    what: 'dead letters are deleted by number',
    breaks: 'S17',
    breaking: store((whole) => ({
      configure: (terms, report) =>
        whole.configure?.({ ...terms, retention: { ...terms.retention, maxDeadLetters: 1 } }, report),
    })),
  },
  {
    what: 'a full store is told as one that fails',
    breaks: 'S17',
    breaking: does(
      StorePlace.prototype,
      'enqueue',
      async function (this: StorePlace, ...given: Parameters<typeof enqueue>) {
        try {
          return await enqueue.apply(this, given)
        } catch (error) {
          throw new RedriveError('STORAGE_UNAVAILABLE', 'the store fails', { cause: error })
        }
      },
    ),
  },
]
