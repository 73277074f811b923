/**
 * Whom an object was made for. An object keeps the tasks of one principal for one origin, and has credentials of its own: what
 * comes under another name, or stands in a row that was changed, must not go out with them (S12, S16).
 *
 * Its name says so, where `objectName` has made it. An object of another name, or without one, is for whom its first task is.
 */

import { laneName, type NewTask } from '../api/store.ts'
import { originIn } from '../options/check.ts'
import type { ObjectStorage } from '../stores/durable-object.ts'
import { type ObjectOwner, objectName, readObjectName } from './namespace.ts'

const TABLE =
  'CREATE TABLE IF NOT EXISTS redrive_made_for (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT'

type Aim = Pick<NewTask, 'principal' | 'targetUrl' | 'lane'>

export class MadeFor {
  readonly #storage: ObjectStorage
  #owner: ObjectOwner | undefined
  #isKept = false

  /** `name`: of the object's id, where it has one. Reads nothing before it is asked. */
  constructor(name: string | undefined, storage: ObjectStorage) {
    this.#storage = storage
    this.#owner = name === undefined ? undefined : readObjectName(name)
    this.#isKept = this.#owner !== undefined
  }

  /** undefined: not known yet, since no task has come. Throws where the storage does. */
  get owner(): ObjectOwner | undefined {
    if (!this.#isKept) {
      this.#storage.sql.exec(TABLE)
      const [row] = this.#storage.sql.exec('SELECT name FROM redrive_made_for').toArray()
      if (row) this.#owner = readObjectName((row as { readonly name: string }).name)
      this.#isKept = this.#owner !== undefined
    }
    return this.#owner
  }

  /** Why a task is none of this object's; undefined: it is. */
  refuses(task: Aim): string | undefined {
    const { owner } = this
    return owner && !isFor(owner, task) ? `the object '${nameOf(owner)}' has no tasks of '${aimOf(task)}'` : undefined
  }

  /** Takes a task for the first one, if there was none; says why it is none of this object's. */
  takes(task: Aim): string | undefined {
    const origin = originIn(task.targetUrl)
    if (!this.owner && origin !== undefined) {
      const owner = { principal: task.principal, origin, shard: undefined }
      if (!isFor(owner, task)) return `its lane is not that of '${aimOf(task)}'`
      this.#storage.sql.exec('INSERT INTO redrive_made_for VALUES (1, ?)', nameOf(owner))
    }
    return this.refuses(task)
  }
}

const isFor = ({ principal, origin }: ObjectOwner, task: Aim): boolean =>
  task.principal === principal && originIn(task.targetUrl) === origin && task.lane === laneName(principal, origin)

const nameOf = ({ principal, origin, shard }: ObjectOwner): string => objectName(principal, origin, shard)

/** The owner that a task would have, for a message: it may be anything. */
function aimOf({ principal, targetUrl }: Aim): string {
  try {
    return objectName(principal, originIn(targetUrl) ?? '')
  } catch {
    return 'no owner that there can be'
  }
}
