// A process that stores tasks, has its file taken away in the way it is told, stores more, and is killed. One line for each that is stored.
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { taskOf } from './words.ts'

const [path = '', way = ''] = process.argv.slice(2)
const remove = (...endings: readonly string[]): void => {
  for (const ending of endings) rmSync(path + ending)
}
const WAYS: Readonly<Record<string, () => void>> = {
  deleted: () => remove(''),
  'deleted with its log': () => remove('', '-wal', '-shm'),
  'moved away': () => renameSync(path, `${path}.bak`),
  'with its folder deleted and made anew': () => {
    rmSync(dirname(path), { recursive: true })
    mkdirSync(dirname(path))
  },
  'replaced by an earlier copy': () => renameSync(`${path}.copy`, path),
  'replaced by an empty file': () => {
    remove('')
    writeFileSync(path, '')
  },
  'without its log': () => remove('-wal'),
  'without its index': () => remove('-shm'),
  'without both': () => remove('-wal', '-shm'),
}

const store = sqliteStore({ path })
const put = async (from: number): Promise<void> => {
  for (let n = from; n < from + 10; n++) {
    const [enqueued] = await store.enqueue([taskOf(n, { body: new Uint8Array(500).fill(n) })])
    process.stdout.write(`${enqueued?.outcome} ${enqueued?.taskId}\n`)
  }
}
await put(0)
if (way.endsWith('copy')) {
  await store.close()
  copyFileSync(path, `${path}.copy`)
  await put(10)
}
WAYS[way]?.()
await put(20)
process.kill(process.pid, 'SIGKILL')
