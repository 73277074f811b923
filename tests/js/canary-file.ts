/** The canary's scenario in Node: the store is a file. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RetryQueueOptions } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { Scenario } from './canary-scenario.ts'
import { CanaryServer } from './canary-server.ts'
import { eventually } from './eventually.ts'

export interface Written {
  readonly where: string
  readonly bytes: Uint8Array
}

export class FileScenario extends Scenario {
  readonly server: CanaryServer = new CanaryServer(this.canaries)
  /** Bytes of the files of the store, at several moments. */
  readonly files: Written[] = []
  protected readonly axiosAdapter = 'http'
  readonly #folder = mkdtempSync(join(tmpdir(), 'redrive-canary-'))
  readonly #path = join(this.#folder, 'tasks.db')

  override async end(): Promise<void> {
    await super.end()
    await this.server.close()
    rmSync(this.#folder, { recursive: true })
  }

  get port(): number {
    return this.server.port
  }

  protected device(): RetryQueueOptions {
    return { store: sqliteStore({ path: this.#path }), principal: 'ann', allowMemory: true }
  }

  async serverIs(state: 'up' | 'down'): Promise<void> {
    this.server.up = state === 'up'
  }

  protected async until(read: () => Promise<unknown>, wanted: unknown): Promise<void> {
    await eventually(read).toBe(wanted)
  }

  /** The raw bytes of the files, and every row, since a long value may lie on several pages. */
  async snapshot(when: string): Promise<void> {
    for (const ending of ['', '-wal', '-shm']) {
      const file = `${this.#path}${ending}`
      if (existsSync(file)) this.files.push({ where: `tasks.db${ending} ${when}`, bytes: readFileSync(file) })
    }
    const database = new DatabaseSync(this.#path, { readOnly: true })
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    for (const { name } of tables) {
      const rows = JSON.stringify(database.prepare(`SELECT * FROM "${name}"`).all())
      this.files.push({ where: `rows of ${name} ${when}`, bytes: Buffer.from(rows) })
    }
    database.close()
  }
}
