import { chmodSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../../../js/stores/sqlite.ts'
import { freePort } from '../../../servers/free-port.ts'
import { examine, fill, folderOf, run, says, widest } from './setup.ts'

async function filled(count = 3): Promise<{ readonly path: string; readonly cwd: string }> {
  const cwd = folderOf()
  const path = join(cwd, 'tasks.db')
  await fill(sqliteStore({ path }), count, 'x'.repeat(100))
  return { path, cwd }
}

test('a sound file is said to be one, with what it holds', async () => {
  const { path } = await filled()
  const { code, findings } = await examine(`sqlite:${path}`)
  expect(code).toBe(0)
  expect(findings).toMatchObject({
    file: says('ok', /layout \d+$/),
    contents: { level: 'ok', text: 'no damage' },
    tasks: { level: 'note', text: '3 waiting, 0 in flight, 0 dead letters, 0 ended; 300 B of bodies' },
    rights: { level: 'ok' },
    disk: { level: expect.any(String) },
    log: { level: 'ok' },
  })
})

test('a look changes nothing of the file, and leaves nothing beside it', async () => {
  const { path, cwd } = await filled()
  const before = { bytes: readFileSync(path), files: readdirSync(cwd).sort(), at: statSync(path).mtimeMs }
  await examine(`sqlite:${path}`)
  expect({ bytes: readFileSync(path), at: statSync(path).mtimeMs }).toEqual({ bytes: before.bytes, at: before.at })
  expect(readdirSync(cwd).filter((name) => !before.files.includes(name) && !/-(wal|shm)$/.test(name))).toEqual([])
})

test('a file that is not there is none yet, and is not made', async () => {
  const cwd = folderOf()
  const { code, findings } = await examine('sqlite:new.db', [], { cwd })
  expect({ code, level: findings.file?.level }).toEqual({ code: 0, level: 'note' })
  expect(existsSync(join(cwd, 'new.db'))).toBe(false)
  const nowhere = await examine('sqlite:no/such/x.db', [], { cwd })
  expect(nowhere).toMatchObject({ code: 1, findings: { file: { level: 'unsafe' } } })
})

test('rights of others are warned of', async () => {
  const { path } = await filled()
  chmodSync(path, 0o644)
  const { code, findings } = await examine(`sqlite:${path}`)
  expect(code).toBe(0)
  expect(findings.rights).toMatchObject(says('warning', 'mode 644'))
})

test("another program's database is refused, and so is no database at all", async () => {
  const cwd = folderOf({ 'text.db': 'this is no database, and long enough to be taken for one by its size alone' })
  const other = new DatabaseSync(join(cwd, 'other.db'))
  other.exec('CREATE TABLE t (a)')
  other.close()
  expect((await examine('sqlite:other.db', [], { cwd })).findings.file).toMatchObject(
    says('unsafe', "another program's database"),
  )
  expect((await examine('sqlite:text.db', [], { cwd })).findings.file).toMatchObject(
    says('unsafe', 'cannot be read: file is not a database'),
  )
  // no one is to change the rights of what belongs to others
  for (const store of ['other.db', 'text.db', '/etc']) {
    expect((await examine(`sqlite:${store}`, [], { cwd })).all.map(({ about }) => about)).toEqual(['file', 'disk'])
  }
})

test('damage is found', async () => {
  const { path } = await filled(50)
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xff, 8 * 4_096, 12 * 4_096))
  const { code, findings } = await examine(`sqlite:${path}`)
  expect(code).toBe(1)
  expect((findings.contents ?? findings.file)?.level).toBe('unsafe')
})

test('a write-ahead log that has grown is warned of', async () => {
  const { path } = await filled()
  writeFileSync(`${path}-wal`, '')
  truncateSync(`${path}-wal`, 65 * 2 ** 20)
  expect((await examine(`sqlite:${path}`)).findings.log).toMatchObject(
    says('warning', /^65 MiB in the write-ahead log/),
  )
})

test('a store that is nearly full is warned of, by number and by bytes', async () => {
  const { path } = await filled(8)
  for (const limit of ['--capacity 10', '--capacity-bytes 1000']) {
    expect((await examine(`sqlite:${path}`, limit.split(' '))).findings.tasks).toMatchObject(
      says('warning', '80 % of what --capacity and --capacity-bytes allow'),
    )
  }
})

test('the store is that of the configuration', async () => {
  const { path, cwd } = await filled()
  writeFileSync(join(cwd, 'redrive.config.json'), JSON.stringify({ store: `sqlite:${path}` }))
  expect((await run('doctor', { cwd })).out).toContain('3 waiting')
})

test('memory is no store for what must not be lost', async () => {
  expect(await examine('memory:')).toMatchObject({ code: 1, findings: { durability: { level: 'unsafe' } } })
})

test('a server that is not there is said, without its password', async () => {
  const store = `redis://:geheim@127.0.0.1:${await freePort()}`
  const { code, out } = await run(['doctor', '--store', store])
  expect(code).toBe(1)
  expect(out).toMatch(/^BAD {3}server {2}redis:\/\/127\.0\.0\.1:\d+ does not answer \(connect ECONNREFUSED/)
  expect(out).not.toContain('geheim')
})

test.each([60, 80, 120])('findings fit into %i columns', async (columns) => {
  const { out } = await run('doctor --store memory:', { columns, isTTY: true })
  expect(widest(out)).toBeLessThanOrEqual(columns)
  expect(out).toContain('1 unsafe: tasks may be lost.')
})
