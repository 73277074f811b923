/** A server that answers as the REST API does, with what it is told, and remembers what it was asked. */

import type { IncomingMessage } from 'node:http'
import { onLoopback } from '../../../loopback.ts'

export interface Asked {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface FakeAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly text?: string
  /** The connection ends within the body. */
  readonly breaksOff?: true
}

export interface FakeService {
  readonly url: string
  readonly asked: readonly Asked[]
}

const TYPE = 'content-type'

/** By method and path, without the query. Of several the next is given each time, and the last for ever. */
export type Answers = Readonly<Record<string, FakeAnswer | readonly [FakeAnswer, ...FakeAnswer[]]>>

export async function fakeService(answers: Answers): Promise<FakeService> {
  const asked: Asked[] = []
  const url = await onLoopback(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const { method = '', url: path = '', headers } = request
    asked.push({ method, path, headers, body: text === '' ? undefined : JSON.parse(text) })
    const name = `${method} ${path.replace(/\?.*/, '')}`
    const given = [answers[name] ?? problem(404, 'not-found', 'there is no such path')].flat()
    const before = asked.filter((each) => `${each.method} ${each.path.replace(/\?.*/, '')}` === name).length - 1
    const answer = given[Math.min(before, given.length - 1)] as FakeAnswer
    const body = answer.text ?? (answer.json === undefined ? '' : JSON.stringify(answer.json))
    const type = answer.json === undefined ? 'text/plain' : 'application/json'
    response.writeHead(answer.status ?? 200, { [TYPE]: type, ...answer.headers })
    if (answer.breaksOff) response.write(body, () => response.destroy())
    else response.end(body)
  })
  return { url, asked }
}

export function problem(
  status: number,
  type: string,
  detail: string,
  more: FakeAnswer & { readonly members?: object } = {},
): FakeAnswer {
  const { members, headers } = more
  return {
    status,
    headers: { [TYPE]: 'application/problem+json', ...headers },
    json: { type: `urn:redrive:problem:${type}`, title: 'A title', status, detail, instance: 'req-8f2', ...members },
  }
}
