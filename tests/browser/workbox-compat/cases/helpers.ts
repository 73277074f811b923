/** The cases' requests, and how they are put in and taken out. */
import { post, type QueueLike } from '../kit.ts'

export const DAY_MS = 86_400_000
export const MINUTE_MS = 60_000

/** Pushes requests with these bodies, one after another. */
export async function push(queue: QueueLike, ...all: readonly string[]): Promise<void> {
  for (const body of all) await queue.pushRequest({ request: post(body) })
}

/** Until the queue is empty, or a while has passed in which its database was asked many times. */
export async function emptied(queue: QueueLike): Promise<void> {
  for (let asked = 0; asked < 300 && (await queue.size()) > 0; asked++);
}

/** Takes all out at one end. */
export async function drain(queue: QueueLike, how: 'shiftRequest' | 'popRequest'): Promise<string[]> {
  const seen: string[] = []
  for (;;) {
    const entry = await queue[how]()
    if (!entry) return seen
    seen.push(await entry.request.text())
  }
}

export const made = (url = 'https://other.test/x') =>
  new Request(url, { method: 'PUT', body: 'bytes', headers: { 'x-foo': 'bar' }, mode: 'cors', credentials: 'include' })

/** The parts of a request that both give back. */
export async function partsOf(request: Request | undefined): Promise<unknown> {
  if (!request) return undefined
  const { url, method, mode, credentials, headers } = request
  return { url, method, mode, credentials, foo: headers.get('x-foo'), body: await request.text() }
}
export const PARTS = {
  url: 'https://other.test/x',
  method: 'PUT',
  mode: 'cors',
  credentials: 'include',
  foo: 'bar',
  body: 'bytes',
}
