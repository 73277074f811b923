/** Names that take a while, in real time. */

import { expect, onTestFinished, test } from 'vitest'
import { openNames } from '../../../js/service/name-servers.ts'
import { target } from './loopback.ts'
import { nameServer } from './name-server.ts'
import { QUICK, setup } from './service-setup.ts'

const NAME = 'slow.example.com'

test('a name is waited for that is slow on a server that is quick: c-ares would not, for longer than a second', async () => {
  const quick = Array.from({ length: 30 }, (_, i) => `quick${i}.example.com`)
  const addresses = ['93.184.215.14']
  const server = await nameServer({
    ...Object.fromEntries(quick.map((name) => [name, { addresses }])),
    [NAME]: { addresses, afterMs: 1_500 },
  })
  const { names, close } = openNames({ dnsServers: [server.address] })
  onTestFinished(close)
  const of = (name: string) => names.addressesOf(name, { tenant: null, withinMs: 10_000 })
  for (const name of quick) await of(name)
  expect(await of(NAME)).toEqual(addresses)
})

test.each([undefined, 800])(
  'a task whose name takes three seconds spends no attempt on that, with %s ms for each',
  async (limitMs) => {
    const { port } = await target()
    const server = await nameServer({ [NAME]: { addresses: ['127.0.0.1'], ttl: 0, afterMs: 3_000 } })
    const { post, ended } = await setup({
      ...{ allowHttp: true, allowPrivate: ['127.0.0.0/8'], targets: [`:${port}`], dnsServers: [server.address] },
    })
    const policy = { ...QUICK, maxAttempts: 2, ...(limitMs !== undefined && { attemptTimeoutMs: limitMs }) }
    const task = await ended(await post('/retry-tasks', { targetUrl: `http://${NAME}:${port}/`, json: 1, policy }))
    expect(task).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  },
)
