// The scenes of `npm run pictures`: a name, the markup of the page, and when it is ready.
import { presets } from '../../js/options/presets.ts'
import { inspectorScenes } from './inspector.mjs'

const lab = '<redrive-curve></redrive-curve>'
const fragmentOf = (state) =>
  `#redrive-curve?${new URLSearchParams(Object.entries(state).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))}`

const drawn = (page) => page.locator('redrive-curve figcaption').waitFor()
const computed = async (page) => {
  await drawn(page)
  await page.locator('redrive-curve figure[aria-busy=false]').waitFor({ timeout: 60_000 })
}

const spread = { policyId: 'own', strategy: 'spread', initialDelayMs: 10_000, maxDelayMs: 86_400_000, maxAttempts: 12 }

export const scenes = [
  ...inspectorScenes,
  {
    name: 'lab-curve',
    body: lab,
    fragment: fragmentOf({ policy: spread, versus: presets.sidekiq }),
    ready: drawn,
  },
  {
    name: 'lab-crowd',
    body: lab,
    fragment: fragmentOf({ view: 'crowd', policy: spread }),
    ready: computed,
  },
  {
    name: 'lab-frontier',
    body: lab,
    fragment: fragmentOf({ view: 'frontier', policy: presets.sidekiq }),
    ready: computed,
  },
  {
    name: 'lab-outage',
    body: lab,
    fragment: fragmentOf({
      view: 'outage',
      policy: { ...spread, initialDelayMs: 500, maxDelayMs: 47_000, maxAttempts: 100 },
    }),
    ready: computed,
  },
  {
    name: 'lab-failed',
    body: lab,
    fragment: fragmentOf({ policy: { strategy: 'fixed', initialDelayMs: -1 } }),
    ready: (page) => page.locator('redrive-curve [role=alert]').waitFor(),
  },
]
