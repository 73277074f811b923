import { expect, test } from 'vitest'
import { wholeCommands } from './commands.ts'

const written = (...words: readonly string[]) =>
  [`*${words.length}`, ...words.map((word) => `$${word.length}\r\n${word}`), ''].join('\r\n')
const names = (text: string) => {
  const { commands, rest } = wholeCommands(Buffer.from(text, 'latin1'))
  return [commands.map(({ name }) => name), rest.toString('latin1')]
}

test('commands are taken as a whole, whatever is in them', () => {
  expect(names(written('PING') + written('EVALSHA', 'a\r\nb', ''))).toEqual([['PING', 'EVALSHA'], ''])
})

test('what has not come yet is left, wherever it was cut', () => {
  const text = written('EVALSHA', 'abc', '\r\n')
  for (let cut = 1; cut < text.length; cut++) expect(names(text.slice(0, cut))).toEqual([[], text.slice(0, cut)])
})

test('what is no such command is passed over: a replica says a newline now and then', () => {
  expect(names(`\n${written('PING')}`)).toEqual([['PING'], ''])
  expect(names('PING\r\n')).toEqual([[], ''])
  expect(names('*2\r\nREPLCONF\r\n')).toEqual([[], ''])
})
