// Options of a call come in parts, as an adapter's defaults and as its own: a policy is sound or not when they are together.
import { expect, test } from 'vitest'
import { wrapFetch } from '../../js/adapters/fetch.ts'
import { presets } from '../../js/index.ts'
import { ORDERS, setup } from './setup.ts'

// longer than a day, the life of a key that the default policy has
const LONG = { totalBudgetMs: 150_000_000 }

test.each<[string, object, object | undefined]>([
  ['its defaults', { policyId: 'svix', policy: LONG }, undefined],
  ['the call', {}, { policyId: 'svix', policy: LONG }],
  ['the call, to a policy of its defaults', { policyId: 'svix' }, { policy: LONG }],
])('a part of a policy is laid over the one it names: given by %s', async (_, defaults, redrive) => {
  const { queue } = await setup({ policies: [presets.svix] })

  const { status } = await wrapFetch(queue, defaults)(ORDERS, redrive && { redrive })

  expect(status).toBe(200)
})

test('together they are checked', async () => {
  const { queue } = await setup()
  const call = wrapFetch(queue, { policy: LONG })(ORDERS)

  await expect(call).rejects.toThrow('redrive.policy.totalBudgetMs')
})
