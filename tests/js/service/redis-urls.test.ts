import { expect, test } from 'vitest'
import { accountIn, authorityOf, clusterUrl, sentinelUrl } from '../../../js/service/redis-urls.ts'

const said = (nodes: readonly { readonly host: string; readonly port: number }[] = []) =>
  nodes.map(({ host, port }) => `${host} ${port}`).join(', ')

test.each([
  ['redis-sentinel://a/main', '', 'a 26379', 'main', ''],
  ['redis-sentinel://a:1,b/main', '', 'a 1, b 26379', 'main', ''],
  ['redis-sentinel://me:s%40cret@a:1/main?x=1', 'me:s%40cret@', 'a 1', 'main', '?x=1'],
  ['redis-sentinel://a', '', 'a 26379', '', ''],
])('%s', (url, login, sentinels, name, rest) => {
  const read = sentinelUrl(url)
  expect(read).toMatchObject({ login, name, rest })
  expect(said(read?.sentinels)).toBe(sentinels)
})

test('another address is none', () => {
  expect(sentinelUrl('redis://a/main')).toBeUndefined()
})

test.each([
  ['redis-cluster://a', '', 'a 6379', {}],
  ['redis-cluster://a:7001,b,[::1]:7003/', '', 'a 7001, b 6379, ::1 7003', {}],
  ['redis-cluster://me:s%40cret@a:1,b:2', 'me:s%40cret@', 'a 1, b 2', { username: 'me', password: 's@cret' }],
  ['redis-cluster://me:a:b@c@a', 'me:a:b@c@', 'a 6379', { username: 'me', password: 'a:b@c' }],
  ['redis-cluster://:secret@a', ':secret@', 'a 6379', { password: 'secret' }],
])('%s', (url, login, nodes, account) => {
  const read = clusterUrl(url)
  expect(read?.login).toBe(login)
  expect(said(read?.nodes)).toBe(nodes)
  expect(accountIn(login)).toEqual(account)
  const [first, ...rest] = read?.nodes.map(authorityOf) ?? []
  expect(clusterUrl(`redis-cluster://${[first, ...rest].join(',')}`)?.nodes).toEqual(read?.nodes)
})

test('the address of one server is none of a cluster', () => {
  expect(clusterUrl('redis://a:1')).toBeUndefined()
})
