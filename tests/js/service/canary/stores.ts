/**
 * Where a service of the canary keeps tasks and bodies, and all the bytes that lie there. Another store is one more entry of `STORES` and a test file
 * beside `sqlite.test.ts`.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { startServer } from '../../../redis/servers.ts'
import type { Canaries, SHAPES } from '../../canaries.ts'

export interface Kept {
  readonly address: string
  readonly env?: Readonly<Record<string, string>>
  bytes(): Uint8Array
  /** Turns the service away, with whatever it shows, while `work` is done. Absent: it cannot. */
  refusing?(work: () => Promise<void>): Promise<void>
  end(): Promise<void>
}

export type StoreKind = 'sqlite' | 'redis'
export type BodiesKind = 'folder' | 'bucket'

/** The secret of this store, as a field. */
export const STORE_PASSWORD = 'a password of a Redis'
const USER = 'canary'

export const STORES: Readonly<Record<StoreKind, (folder: string, canaries: Canaries) => Promise<Kept>>> = {
  sqlite: async (folder) => ({
    address: 'sqlite:tasks.db',
    bytes: () => sqliteBytes(join(folder, 'tasks.db')),
    end: async () => {},
  }),
  // its file has every change as it was made
  redis: async (_, canaries) => {
    const server = await startServer({ appendonly: true, appendfsync: 'always' })
    const password = canaries.make(STORE_PASSWORD, 'base64url')
    const user = (...words: readonly string[]) => server.ask('ACL', 'SETUSER', USER, ...words)
    await user('on', `>${password}`, '~*', '&*', '+@all')
    return {
      address: server.url.replace('//', `//${USER}:${password}@`),
      bytes: () => filesIn(join(server.folder, 'appendonlydir')),
      async refusing(work) {
        await user('off')
        await server.ask('CLIENT', 'KILL', 'USER', USER)
        try {
          await work()
        } finally {
          await user('on')
        }
      },
      end: () => server.end(),
    }
  },
}

export const BODIES: Readonly<Record<BodiesKind, (folder: string, canaries: Canaries) => Promise<Kept>>> = {
  folder: async (folder) => ({
    address: 'file:bodies',
    bytes: () => filesIn(join(folder, 'bodies')),
    end: async () => {},
  }),
  bucket: (_, canaries) => bucketOf(canaries),
}

/** The files of a SQLite store, byte by byte, and each of its rows, since a long value may lie on several pages. */
function sqliteBytes(path: string): Uint8Array {
  const files = ['', '-wal', '-shm', '-reserve'].map((ending) => `${path}${ending}`).filter(existsSync)
  const database = new DatabaseSync(path, { readOnly: true })
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all())
  database.close()
  const values = rows
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? value : Buffer.from(`${value}`)))
  return Buffer.concat([
    ...files.map((file) => readFileSync(file)),
    ...values.flatMap((value) => [value, Buffer.from('\n')]),
  ])
}

/** Every file of a folder, with its name. */
function filesIn(folder: string): Uint8Array {
  const found = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Buffer.concat(files.flatMap((file) => [Buffer.from(`${file}\n`), readFileSync(file)]))
}

/** A bucket in memory, which keeps all that it was ever sent: as much of S3 as a service asks for. */
async function bucketOf(canaries: Canaries): Promise<Kept> {
  const sent: Buffer[] = []
  const objects = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method, url: path = '' } = request
      const body = Buffer.concat(parts)
      sent.push(Buffer.from(`${method} ${path}\n${request.rawHeaders.join('\n')}\n`), body)
      const known = objects.get(path)
      if (method === 'PUT') objects.set(path, body)
      if (method === 'DELETE') objects.delete(path)
      if (method === 'PUT') response.writeHead(200).end()
      else if (method === 'DELETE') response.writeHead(204).end()
      else if (known)
        response.writeHead(200, { 'content-length': known.length }).end(method === 'GET' ? known : undefined)
      else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const secret = (shape: (typeof SHAPES)[number]) => canaries.make('a secret of a bucket', shape)
  return {
    address: `s3://bodies/canary?endpoint=http://127.0.0.1:${port}&region=eu-central-1`,
    // a token is sent with each request, as the key's own secret is not
    env: { AWS_ACCESS_KEY_ID: 'canary', AWS_SECRET_ACCESS_KEY: secret('base64url') },
    bytes: () => Buffer.concat(sent),
    async end() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
