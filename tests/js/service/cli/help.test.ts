import { expect, test } from 'vitest'
import { COMMANDS } from '../../../../js/service/cli/commands.ts'
import { flagRows } from '../../../../js/service/cli/flags.ts'
import { bare, run, widest } from './setup.ts'

const LINES = ['--help', ...COMMANDS.map(({ name }) => `${name} --help`), 'task --help', 'dead -h', 'help', 'help plan']

test.each(LINES.flatMap((line) => [40, 60, 80, 120].map((columns) => ({ line, columns }))))(
  '$line fits into $columns columns',
  async ({ line, columns }) => {
    const { code, out, err } = await run(line, { columns, isTTY: true })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    // neither a command line nor a default is broken
    const prose = out.replace(/Examples[\s\S]*/, '')
    expect(widest(prose)).toBeLessThanOrEqual(Math.max(columns, 46))
  },
)

test('every flag and every command is in the help, with its default', async () => {
  const { out } = await run('--help', { columns: 120 })
  for (const { flag, default: standard } of flagRows()) {
    expect(out).toContain(`  ${flag}`)
    if (standard && standard !== 'off' && standard !== 'none') expect(out).toContain(`[${standard}]`)
  }
  for (const { name, summary } of COMMANDS) expect(out.replace(/\s+/g, ' ')).toContain(`${name} ${summary}`)
  expect(out).toContain('  serve ')
})

test('help is asked for in any place, and starts nothing', async () => {
  const { out } = await run('--help')
  for (const line of ['help', '-h', 'serve --help', '--port 1 --help', 'help serve']) {
    expect(await run(line)).toMatchObject({ code: 0, out, settings: undefined })
  }
  expect((await run('help task get')).out).toBe((await run('task get x --help')).out)
})

test('colours are for terminals, and NO_COLOR and dumb terminals have none', async () => {
  const { out } = await run('--help')
  expect(out).toBe(bare(out))
  expect((await run('--help', { isTTY: true })).out).not.toBe(out)
  expect(bare((await run('--help', { isTTY: true })).out)).toBe(out)
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    expect((await run('--help', { isTTY: true, env })).out).toBe(out)
  }
})

test('every sentence about a flag begins with a capital and has no end of its own', () => {
  for (const { help } of flagRows()) expect(help).toMatch(/^[A-Z].*[^.]$/)
})
