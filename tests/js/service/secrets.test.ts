import { renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { SecretError, type SecretSource, Secrets, sourceIn } from '../../../js/service/secrets.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { folder } from './program.ts'

function setup(files: Readonly<Record<string, string>> = {}, env: Readonly<Record<string, string>> = {}) {
  const cwd = folder(files)
  const clock = fakeClock()
  const secrets = new Secrets({ clock, cwd, env })
  const read = (text: string, isRefused = false) => secrets.read(sourceIn(text) as SecretSource, isRefused)
  return { cwd, clock, secrets, read }
}

/** A command that counts its runs in a file and prints the count. */
const COUNT = 'exec:n=$(($(cat runs 2>/dev/null || echo 0)+1)); echo $n > runs; echo secret-$n'

test.each([
  ['env:TOKEN', { kind: 'env', at: 'TOKEN' }],
  ['file:/run/secrets/a b', { kind: 'file', at: '/run/secrets/a b' }],
  ['exec:vault read -field=token x', { kind: 'exec', at: 'vault read -field=token x' }],
  ['env:NOT-A-NAME', undefined],
  ['file:', undefined],
  ['file:a\nb', undefined],
  ['Bearer abc', undefined],
  ['', undefined],
])('%s is read as it stands', (text, source) => {
  expect(sourceIn(text)).toEqual(source)
})

describe('a variable', () => {
  test('is read each time, without the end of its line', async () => {
    const env: Record<string, string> = { TOKEN: 'one\n' }
    const { read } = setup({}, env)
    expect(await read('env:TOKEN')).toBe('one')
    env.TOKEN = 'two'
    expect(await read('env:TOKEN')).toBe('two')
  })

  test('that is not there, or is empty, is told by its name', async () => {
    const { read } = setup({}, { EMPTY: '\n' })
    await expect(read('env:TOKEN')).rejects.toThrow('env:TOKEN: there is no such variable')
    await expect(read('env:EMPTY')).rejects.toThrow('env:EMPTY: it is empty')
  })
})

const writerOf = (path: string) => (text: string, second: number) => {
  writeFileSync(path, text)
  utimesSync(path, second, second)
}

describe('a file', () => {
  test('is read again when it has changed, and not before', async () => {
    const { cwd, read } = setup({ token: 'one' })
    const write = writerOf(join(cwd, 'token'))
    write('one', 1_000)
    expect(await read('file:token')).toBe('one')
    write('two', 1_000)
    expect(await read('file:token')).toBe('one')
    write('two', 1_001)
    expect(await read('file:token')).toBe('two')
  })

  test('whose content was refused is read again, changed or not', async () => {
    const { cwd, read } = setup({ token: 'one' })
    const write = writerOf(join(cwd, 'token'))
    write('one', 1_000)
    await read('file:token')
    write('two', 1_000)
    expect(await read('file:token', true)).toBe('two')
  })

  test('that another takes the place of is another', async () => {
    const { cwd, read } = setup({ token: 'one', next: 'two' })
    writerOf(join(cwd, 'token'))('one', 1_000)
    writerOf(join(cwd, 'next'))('two', 1_000)
    expect(await read('file:token')).toBe('one')
    renameSync(join(cwd, 'next'), join(cwd, 'token'))
    expect(await read('file:token')).toBe('two')
  })

  test('that cannot be read is told by its path and the code of the system', async () => {
    const { read } = setup({ large: 'x'.repeat(70_000) })
    await expect(read('file:token')).rejects.toThrow('file:token: ENOENT')
    await expect(read('file:.')).rejects.toThrow(/^file:\.: EISDIR$/)
    await expect(read('file:large')).rejects.toThrow('file:large: 70000 bytes exceed 65536')
  })
})

describe('a program', () => {
  test('is asked once a minute, however many ask', async () => {
    const { clock, read } = setup()
    expect(await Promise.all([read(COUNT), read(COUNT), read(COUNT)])).toEqual(['secret-1', 'secret-1', 'secret-1'])
    await clock.advance(59_999)
    expect(await read(COUNT)).toBe('secret-1')
    await clock.advance(1)
    expect(await read(COUNT)).toBe('secret-2')
  })

  test('whose answer was refused is asked again, but not more than once in five seconds', async () => {
    const { clock, read } = setup()
    expect(await read(COUNT)).toBe('secret-1')
    expect(await read(COUNT, true)).toBe('secret-1')
    await clock.advance(5_000)
    expect(await Promise.all([read(COUNT, true), read(COUNT, true)])).toEqual(['secret-2', 'secret-2'])
  })

  test('that fails is told by its exit code, and is asked again after five seconds', async () => {
    const { clock, read } = setup({ there: '' })
    const command = 'exec:rm there || { echo a-secret; echo a-secret >&2; exit 3; }'
    expect(await read(`${command}; echo fine`)).toBe('fine')
    const refused = read(command)
    await expect(refused).rejects.toThrow(SecretError)
    await expect(refused).rejects.toThrow('exec:…: exit code 3')
    await expect(read(command)).rejects.toThrow('exec:…: exit code 3')
    await clock.advance(5_000)
    await expect(read('exec:kill -9 $$')).rejects.toThrow('exec:…: ended by SIGKILL')
  })

  test('has five seconds, and ends with all that it has started', async () => {
    const { clock, cwd, read } = setup()
    const asked = read('exec:sleep 1000 & echo $! > pid; wait')
    asked.catch(() => {})
    await eventually(() => statSync(join(cwd, 'pid'), { throwIfNoEntry: false })?.size ?? 0).toBeGreaterThan(1)
    const pid = Number(await read('file:pid'))
    expect(() => process.kill(pid, 0)).not.toThrow()
    await clock.advance(5_000)
    await expect(asked).rejects.toThrow('exec:…: no answer within 5000 ms')
    await eventually(() => isRunning(pid)).toBe(false)
  })

  test('may not say too much', async () => {
    const { read } = setup()
    await expect(read('exec:yes')).rejects.toThrow('exec:…: more than 65536 bytes')
  })
})

/** A process that has ended may stay as a zombie until its parent looks. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
