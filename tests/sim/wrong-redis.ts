/** Functions in Redis that are wrong on purpose, each in one way: what the checks are there to notice. */

import { createHash } from 'node:crypto'
import { library } from '../../js/stores/redis/scripts.ts'
import type { Wrong } from './wrong.ts'

/** Every function that says `words` says others in their place, for the length of a world. Fields of rows and of the state are numbers by then. */
function reads(words: RegExp, others: string): Wrong['breaking'] {
  const code = () => {
    const right = { ...library }
    const wrong = right.source.replace(new RegExp(words, 'g'), others)
    if (wrong === right.source) throw new Error(`no function says ${words} any more`)
    const hash = createHash('sha1').update(wrong).digest('hex').slice(0, 16)
    Object.assign(library, { hash, source: wrong.replaceAll(right.hash, hash) })
    return () => void Object.assign(library, right)
  }
  return { code }
}

export const WRONG_REDIS: readonly Wrong[] = [
  {
    what: 'any token settles what is in flight',
    breaks: 'S4',
    breaking: reads(/(not succeeded and\(status~=\d+) or row\S+~=token/, '$1'),
  },
  {
    what: 'a renewal is said, and not made',
    breaks: 'S3',
    breaking: reads(/(token then return \d+ end\n)row\S+=now\+forMs/, '$1'),
  },
  { what: 'a lease runs on for an hour', breaks: 'L2', breaking: reads(/S\S+,now\+forMs/, '$& + 3600000') },
  {
    what: 'there is room for one more',
    breaks: 'S7',
    breaking: reads(/c\.own=own==1/, 'c.own, c.perLane, c.total = own == 1, c.perLane + 1, c.total + 1'),
  },
  { what: 'a held lane is not', breaks: 'S9', breaking: reads(/local held=free>now/, 'local held=false') },
  {
    what: 'the next of an order does not wait',
    breaks: 'S19',
    breaking: reads(/firstOfOrder\(row\[\d+\]\)and 1 or 0/, '0'),
  },
  {
    what: 'a key is that of its first user',
    breaks: 'S6',
    breaking: reads(/if keeper.tag==tag then (return rowOf\(keeper.id\))end/, 'do $1 end'),
  },
  {
    what: 'a lane stays where it is',
    breaks: 'L1',
    breaking: reads(/for _,lane in pairs\(moved\)do restage\(lane\)end/, ''),
  },
  {
    what: 'a clock that was set back takes nothing along',
    breaks: 'L1',
    breaking: reads(/S\[3\]=S\[2\]-clock/, 'S[3]=clock-S[2]'),
  },
]
