import { expect, test } from 'vitest'
import { sentinelUrl } from '../../../js/service/sentinel-url.ts'

test.each([
  ['redis-sentinel://a/main', '', [['a', 26_379]], 'main', ''],
  [
    'redis-sentinel://a:1,b/main',
    '',
    [
      ['a', 1],
      ['b', 26_379],
    ],
    'main',
    '',
  ],
  ['redis-sentinel://me:s%40cret@a:1/main?x=1', 'me:s%40cret@', [['a', 1]], 'main', '?x=1'],
  ['redis-sentinel://a', '', [['a', 26_379]], '', ''],
] as const)('%s', (url, login, sentinels, name, rest) => {
  const read = sentinelUrl(url)
  expect(read).toMatchObject({ login, name, rest })
  expect(read?.sentinels.map(({ host, port }) => [host, port])).toEqual(sentinels)
})

test('another address is none', () => {
  expect(sentinelUrl('redis://a/main')).toBeUndefined()
})
