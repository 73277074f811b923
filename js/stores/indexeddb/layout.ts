/**
 * The layout of the database. A higher version than ours is never opened (S20): the browser refuses it. What is added
 * without a higher version, fields and rows of `meta`, is carried along by a version that does not know it.
 *
 * `attempts` holds the whole history of a task, by id and number: those that were sent count up from 1, all else counts down
 * from -1 and says after which of them it came. So a version that knows attempts only passes it by.
 *
 * A record is in an index only while every part of its key is a valid key, and null is none: so each index holds what
 * matters to it and no more.
 */

import type { Layout } from './connection.ts'
import { createState } from './state.ts'

export const STORES = ['tasks', 'bodies', 'attempts', 'lanes', 'meta'] as const
export type StoreName = (typeof STORES)[number]

const INDEXES = {
  /** Tasks that a claim may take: pending, with a due time. One queue for each lane, home and priority. */
  due: ['lane', 'home', 'rank', 'dueAt', 'seq'],
  lease: 'leaseUntil',
  /** Tasks that a deadline may end. */
  late: ['lateAt', 'seq'],
  /** Tasks of an order that are pending or in flight, its head first. */
  order: ['principal', 'orderKey', 'behind', 'seq'],
  parked: 'parkedIn',
  /** Unique. */
  key: ['keptKey', 'principal'],
  /** By status, and of a status by principal. */
  own: ['status', 'principal', 'taskId'],
  ended: ['status', 'principal', 'endedAt', 'seq'],
} as const

export const LAYOUT: Layout = {
  version: 1,
  upgrade(database) {
    const tasks = database.createObjectStore('tasks', { keyPath: 'taskId' })
    for (const [name, path] of Object.entries(INDEXES)) {
      tasks.createIndex(name, path as string | string[], { unique: name === 'key' })
    }
    database.createObjectStore('lanes', { keyPath: 'name' })
    for (const name of ['bodies', 'attempts']) database.createObjectStore(name)
    createState(database.createObjectStore('meta'))
  },
}
