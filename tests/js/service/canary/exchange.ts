/** One request as it is, whatever is in its headers, and all the bytes of its answer. */

import { request } from 'node:http'

export const HEAD_END = '\r\n\r\n'

export interface Exchanged {
  readonly status: number
  readonly bytes: Buffer
}

export function exchange(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const head = `${answer.statusMessage}\n${answer.rawHeaders.join('\n')}${HEAD_END}`
        resolve({ status: answer.statusCode ?? 0, bytes: Buffer.concat([Buffer.from(head), ...parts]) })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
