/**
 * Origins in options. One reader for all of them, since an origin that two readers understand differently sends a key or a
 * trace to where it was not meant for.
 */

import { expect, test } from 'vitest'
import { attachOpenTelemetry } from '../../js/adapters/opentelemetry.ts'
import { resolveObjectOptions } from '../../js/cloudflare/object-options.ts'
import { resolveWorkerOptions } from '../../js/cloudflare/worker-options.ts'
import { RetryQueue } from '../../js/index.ts'
import { setup } from './setup.ts'

const NAMESPACE = { idFromName: () => ({}), get: () => ({}) }

type Take = (queue: RetryQueue, origin: string) => unknown

/** Every place where an origin is an option, with the name that its errors have. */
const DOORS: readonly (readonly [name: string, take: Take])[] = [
  ['options.idempotency.origins[0]', (_, origin) => new RetryQueue({ idempotency: { origins: [origin] } })],
  ['options.idempotency.origins[0]', (_, origin) => resolveObjectOptions({ idempotency: { origins: [origin] } })],
  [
    'options.idempotency.origins[0]',
    (_, origin) =>
      resolveWorkerOptions({ queue: NAMESPACE, ctx: { waitUntil() {} }, idempotency: { origins: [origin] } }),
  ],
  ['options.credentials', (_, origin) => new RetryQueue({ credentials: { [origin]: () => ({}) } })],
  ['attachOpenTelemetry.propagateTo[0]', (queue, origin) => attachOpenTelemetry(queue, { propagateTo: [origin] })],
  ['pause.origin', async (queue, origin) => queue.pause({ origin })],
  ['resume.origin', async (queue, origin) => queue.resume({ origin })],
  ['list.origin', (queue, origin) => queue.list({ origin })],
]

const RIGHT = [
  'https://api.example.com',
  'http://localhost:3000',
  'http://127.0.0.1',
  'https://[::1]:8443',
  'https://xn--bcher-kva.test',
  // another host than the one without the dot, for browsers and servers alike
  'https://api.example.com.',
  'https://under_score.test',
]

/** `meant`: the origin that the error names, or the words that it has in place of one. */
const WRONG: readonly (readonly [origin: string, meant: string])[] = [
  ['https://*.example.com', 'no wildcards'],
  ['*', 'no wildcards'],
  ['https://a,https://b', 'one origin per entry'],
  ['https://a.test,https://b.test', 'one origin per entry'],
  ['https://a.test, https://b.test', 'one origin per entry'],
  ['https://a.test;b.test', 'one origin per entry'],
  ['https://a.test https://b.test', 'one origin per entry'],
  ['https:api.example.com', "'https://api.example.com'"],
  ['https:/api.example.com', "'https://api.example.com'"],
  ['https:\\\\api.example.com', "'https://api.example.com'"],
  ['https:///api.example.com', "'https://api.example.com'"],
  ['https://api.example.com\\@evil.test', "'https://api.example.com'"],
  ['https://api.example.com/', "'https://api.example.com'"],
  ['https://api.example.com/v1', "'https://api.example.com'"],
  ['https://api.example.com?', "'https://api.example.com'"],
  ['https://api.example.com#', "'https://api.example.com'"],
  ['https://API.example.com', "'https://api.example.com'"],
  ['HTTPS://api.example.com', "'https://api.example.com'"],
  ['https://api.example.com:443', "'https://api.example.com'"],
  ['http://api.example.com:80', "'http://api.example.com'"],
  ['https://api.example.com:0443', "'https://api.example.com'"],
  ['https://bücher.test', "'https://xn--bcher-kva.test'"],
  ['https://ａpi.test', "'https://api.test'"],
  ['https://api。test', "'https://api.test'"],
  ['https://%61pi.test', "'https://api.test'"],
  ['https://0x7f.1', "'https://127.0.0.1'"],
  ['https://api.exa\nmple.com', "'https://api.example.com'"],
  [' https://api.example.com', "'https://api.example.com'"],
  ['https://api.example.com\t', "'https://api.example.com'"],
  ['https://api.exa\u00admple.com', "'https://api.example.com'"],
  ['https://user@api.example.com', "'https://api.example.com'"],
  ['blob:https://api.example.com/1', "'https://api.example.com'"],
  ['api.example.com', 'such as'],
  ['//api.example.com', 'such as'],
  ['localhost:3000', 'such as'],
  ['null', 'such as'],
  ['', 'such as'],
  ['https://', 'such as'],
  ['https://.example.com', 'such as'],
  ['https://..', 'such as'],
  ['https://a$b.test', 'such as'],
  ['https://%2a.test', 'such as'],
  ['ftp://api.example.com', 'such as'],
  ['ws://api.example.com', 'such as'],
  ['file:///etc', 'such as'],
  ['data:,x', 'such as'],
  ['javascript:1', 'such as'],
  ['httpx://api.example.com', 'such as'],
]

const refused = async (take: Take, queue: RetryQueue, origin: string): Promise<Error | undefined> => {
  try {
    await take(queue, origin)
    return undefined
  } catch (error) {
    return error as Error
  }
}

test.each(DOORS)('S12 %s takes an exact origin and nothing else', async (name, take) => {
  const { queue } = await setup()
  for (const origin of RIGHT) expect(await refused(take, queue, origin), origin).toBeUndefined()
  for (const [origin, meant] of WRONG) {
    const error = await refused(take, queue, origin)
    expect(error, origin).toBeInstanceOf(RangeError)
    expect(error?.message.startsWith(`${name}: expected `), error?.message).toBe(true)
    expect(error?.message, origin).toContain(meant)
    if (meant !== 'such as' && !meant.startsWith("'")) expect(error?.message).not.toContain('was meant')
  }
})

test.each(DOORS)('S12 %s says no secret of a URL that was given in place of an origin', async (_, take) => {
  const { queue } = await setup()
  for (const url of [
    'https://me:hush@a.test',
    'https://a.test?k=hush',
    'https://a.test#hush',
    'ftp://me:hush@a.test',
  ]) {
    const error = await refused(take, queue, url)
    expect(error).toBeInstanceOf(RangeError)
    expect(error?.message).not.toContain('hush')
  }
})
