/**
 * The place at which a file of settings stops being JSON. The messages of V8 show what stands around it, which may be a part of a secret, and they
 * end up in logs: here nothing of the text is quoted (S12).
 */

import { reasonOf } from './io.ts'

/** The message of `JSON.parse`, or a place in its stead where that quotes the text. */
export function faultIn(text: string): string {
  const message = messageOf(text) ?? ''
  if (isPlain(message)) return message
  // the shortest beginning in which the fault is there already ends with it
  let [sound, faulty] = [0, text.length]
  while (faulty - sound > 1) {
    const middle = (sound + faulty) >>> 1
    const said = messageOf(text.slice(0, middle))
    if (said === undefined || isPlain(said)) sound = middle
    else faulty = middle
  }
  const lines = text.slice(0, faulty).split('\n')
  return `unexpected character at line ${lines.length}, column ${lines.at(-1)?.length ?? 0}`
}

/** Those with a position quote nothing, nor does the one about an end that came too soon. */
const isPlain = (message: string): boolean => / at position \d+|^Unexpected end /.test(message)

/** undefined: it is JSON. */
function messageOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}
