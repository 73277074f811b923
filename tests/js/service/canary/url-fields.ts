/** The URLs of a task, that of its callback too: the same rules hold for each. */

import { SHAPES } from '../../canaries.ts'
import { type Field, ofEach, TOKENS } from './field.ts'
import type { World } from './world.ts'

const SECRET_PARAMETERS = 'token sig access_token X-Amz-Signature key password code api_key client_secret'.split(' ')

const pathsOf = (secret: string): readonly string[] => [
  `/bot123456:${secret}/sendMessage`,
  `/api/webhooks/123456789012345678/${secret}`,
  `/services/T00000000/B00000000/${secret}`,
  `/cart;jsessionid=${secret}`,
  `/d/ghp_${secret}`,
]

/** The same rules for each URL that a task may have. */
export const urlFields = (field: 'targetUrl' | 'callback.url'): readonly Field[] => {
  const withUrl = (url: string) => (field === 'targetUrl' ? { targetUrl: url } : { callback: { url } })
  const base = ({ servers }: World) => (field === 'targetUrl' ? `${servers.target}/ok` : servers.hooks)
  return [
    {
      name: `${field}: a parameter that is named as a secret`,
      async put(world, make) {
        for (const [i, name] of SECRET_PARAMETERS.entries()) {
          const secret = encodeURIComponent(make(SHAPES[i % SHAPES.length]))
          await world.refused('url-secret', withUrl(`${base(world)}?page=2&${name}=${secret}`))
        }
      },
    },
    {
      name: `${field}: a parameter whose value looks like a secret`,
      async put(world, make) {
        for (const before of ['', 'ghp_', 'sk_live_']) {
          const secret = before === '' ? make('jwt') : `${before}${make('hex')}`
          await world.refused('url-secret', withUrl(`${base(world)}?q=${secret}`))
        }
      },
    },
    {
      name: `${field}: a secret in the path`,
      async put(world, make) {
        for (const path of pathsOf(make('hex'))) await world.refused('url-secret', withUrl(`${base(world)}${path}`))
      },
    },
    {
      name: `${field}: a user and a password`,
      put: ofEach(TOKENS, async (world, make) => {
        const [scheme, rest] = base(world).split('://')
        await world.refused('invalid', withUrl(`${scheme}://kim:${encodeURIComponent(make())}@${rest}`))
      }),
    },
    {
      name: `${field}: a fragment`,
      put: ofEach(SHAPES, (world, make) =>
        world.hand(withUrl(`${base(world)}/x#id_token=${encodeURIComponent(make())}`)),
      ),
    },
    {
      name: `${field}: no URL, or one of another scheme`,
      put: ofEach(TOKENS, async (world, make) => {
        const secret = make()
        for (const url of [secret, `ftp://files.test/${secret}`, `http://${'x'.repeat(8_192)}/${secret}`]) {
          await world.refused('invalid', withUrl(url))
        }
      }),
    },
    {
      name: `${field}: a host that is no target`,
      async put(world, make) {
        for (const host of ['10.1.2.3', 'elsewhere.test', 'metadata']) {
          await world.refused('target-refused', withUrl(`https://${host}/${make('words')}`))
        }
      },
    },
  ]
}
