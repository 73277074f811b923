/** What may be wrong with secrets, redirects and what is told, on purpose, each in one way: what the checks are there to notice. */

import { Sanitizer } from '../../js/core/sanitizer.ts'
import { giving, type Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

const { headers, strip } = Sanitizer.prototype

export const WRONG_SECRETS: readonly Wrong[] = [
  {
    what: 'headers are stored whatever they are',
    breaks: 'S12',
    breaking: does(Sanitizer.prototype, 'headers', function (this: Sanitizer, ...given: Parameters<typeof headers>) {
      return { ...headers.apply(this, given), headers: Object.fromEntries(given[0]), withheld: [], unknown: [] }
    }),
  },
  {
    what: 'no secret is seen in a URL',
    breaks: 'S12',
    breaking: does(Sanitizer.prototype, 'url', (url: string) => url),
  },
  {
    what: 'the secret of a URL is blanked where it is to be taken out',
    breaks: 'S12',
    breaking: does(Sanitizer.prototype, 'strip', function (this: Sanitizer, url: string) {
      return strip.call(this, url).replace(/$/, new URL(url).search.replace('access_token', 'page'))
    }),
  },
  {
    what: 'errors are quoted as they are',
    breaks: 'S12',
    breaking: does(Sanitizer.prototype, 'message', String),
  },
  {
    what: 'a credential is kept, and goes with the next attempt too',
    breaks: 'S12',
    breaking: {
      fetch: (send) => {
        let last: string | undefined
        return (input, init) => {
          const sent = new Headers(init?.headers)
          const own = sent.get('authorization') ?? undefined
          if (last !== undefined) sent.set('authorization', last)
          last = own ?? last
          return send(input, { ...init, headers: sent })
        }
      },
    },
  },
  {
    what: 'a redirect is followed wherever it leads',
    breaks: 'S15',
    breaking: {
      fetch: (send) => async (input, init) => {
        const response = await send(input, init)
        const location = response.headers.get('location')
        return init?.redirect === 'manual' && location !== null ? send(location, init) : response
      },
    },
  },
  {
    what: 'a stored task is sent to another origin than it was made for',
    breaks: 'S15',
    breaking: giving(({ task, lease }) => {
      const elsewhere = (text: string) => text.replace('//a.', '//b.')
      return { task: { ...task, targetUrl: elsewhere(task.targetUrl), lane: elsewhere(task.lane) }, lease }
    }),
  },
]
