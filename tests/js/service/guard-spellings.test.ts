/** Every way to write a host that is meant to slip past a check of its spelling. */

import { describe, expect, test } from 'vitest'
import { makeGuard } from '../../../js/service/guard.ts'

const guard = makeGuard({ allowHttp: true })
const rule = (url: string) => guard.check(url)?.rule

/** Host parts that `new URL` makes 127.0.0.1 of: one of each way to write it. More of them are Node's to test, which reads WPT's urltestdata.json. */
const LOOPBACK_V4 = (
  '127.0.0.1 127.0.0.1. 127.1 127.0.1 2130706433 0x7f000001 0X7F.0x0.0x0.0x1 017700000001 0177.0x0.0.1 ' +
  '%31%32%37.0.0.1 127%2E0%2E0%2E1 ①②⑦.⓪.⓪.① １２７．０．０．１ 127。0。0。1 127｡0｡0｡1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ０ｘ７ｆ.1 ' +
  '¹²⁷.0.0.1 127\u00ad.0.0.1 127.0.0.\u200b1 127.0.0.1%EF%BC%8E'
).split(' ')

/** Host parts of ::1, of 127.0.0.1 inside IPv6, and of the addresses that systems take for the host itself. */
const LOOPBACK_V6 = (
  '[::1] [0:0:0:0:0:0:0:1] [::0.0.0.1] [::ffff:127.0.0.1] [::FFFF:7f00:1] [0::ffff:127.255.255.254] ' +
  '[::127.0.0.1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [::] [::0.0.0.0] [::ffff:0.0.0.0] 0 0.0.0.0 0x0 ' +
  '127.255.255.255'
).split(' ')

/** Other places inside: metadata, private and link-local ranges. */
const INSIDE = (
  '169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 １６９.２５４.１６９.２５４ ' +
  '[::ffff:169.254.169.254] [fd00:ec2::254] [fd20:ce::254] 10.1 0xa000001 192.168.257 172.16.0.1 ' +
  '100.100.100.200 [fe80::1] [fc00::1] [fec0::1] [ff02::1] 4294967295 224.0.0.1'
).split(' ')

/** Names that lead inside. */
const NAMES = (
  'localhost LOCALHOST localhost. a.b.localhost. ⓛⓞⓒⓐⓛⓗⓞⓢⓣ %6c%6f%63alhost loc\u00adalhost localhoſt ' +
  'localhost。 𝐥𝐨𝐜𝐚𝐥𝐡𝐨𝐬𝐭 metadata.google.internal METADATA.GOOGLE.INTERNAL. ' +
  'instance-data.ec2.internal metadata metadata.goog db.internal internal printer.local local ' +
  'host.docker.internal ip6-localhost ip6-loopback kubernetes.default.svc.cluster.local ' +
  'kubernetes.default.svc localhost.localdomain instance-data'
).split(' ')

describe.each(['http', 'https'])('by %s:, nothing is sent to', (scheme) => {
  test.each([...LOOPBACK_V4, ...LOOPBACK_V6, ...INSIDE, ...NAMES])('%s', (host) => {
    expect(rule(`${scheme}://${host}/path?query`)).toBeDefined()
  })
})

test.each(LOOPBACK_V4)('%s is read as 127.0.0.1, as the request would be', (host) => {
  expect(new URL(`http://${host}/`).hostname).toBe('127.0.0.1')
  expect(rule(`http://${host}/`)).toBe('loopback')
})

test.each([
  ['http:127.0.0.1', 'loopback'],
  ['http:\\\\127.0.0.1\\x', 'loopback'],
  ['\t ht\ntp://127.0.\r0.1 ', 'loopback'],
  ['http://127.0.0.1\\@example.com/', 'loopback'],
  ['http://127.0.0.1/@example.com/', 'loopback'],
  ['HTTP://LOCALHOST', 'name'],
  ['https://localhost:443/', 'name'],
  ['http://a@b', 'userinfo'],
  ['http://a:b@example.com/', 'userinfo'],
  ['http://example.com@127.0.0.1/', 'userinfo'],
  ['http://%61@example.com/', 'userinfo'],
  ['http://example.com\\@127.0.0.1/'.replace('\\', '%5c'), 'userinfo'],
  ['//127.0.0.1', 'url'],
  ['', 'url'],
  ['http://[::1', 'url'],
  ['http://[fe80::1%eth0]/', 'url'],
  ['http://[::ffff:127.1]/', 'url'],
  ['http://127.0.0.1%00/', 'url'],
  ['http://127.0.0.1%00.example.com/', 'url'],
  ['http://4294967296/', 'url'],
  ['http://example.com:65536/', 'url'],
  ['ftp://example.com/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['gopher://127.0.0.1:6379/_x', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['blob:http://example.com/x', 'scheme'],
  ['unix:/var/run/docker.sock', 'scheme'],
  ['http://example.com:22/', 'port'],
  ['http://example.com:0/', 'port'],
  ['http://example.com:8080/', 'port'],
])('%j is refused (%s)', (url, expected) => {
  expect(rule(url)).toBe(expected)
})

test.each([
  ['a label of 64 bytes', `${'a'.repeat(64)}.example.com`],
  ['a label of 300 bytes', `${'a'.repeat(300)}.example.com`],
  ['a name of 255 bytes', `${'a.'.repeat(127)}b`],
  ['an empty label', 'a..example.com'],
  ['an empty label at its begin', '.example.com'],
  ['two dots at its end', 'example.com..'],
  ['localhost and two dots', 'localhost..'],
  ['an address and two dots', '127.0.0.1..'],
  ['a star', '*.example.com'],
  ['a quote', "a'b.example.com"],
])('a name with %s is refused', (_, host) => {
  expect(rule(`http://${host}/`)).toBe('name')
})

test.each([
  ...[
    'https://example.com',
    'https://EXAMPLE.com./x',
    'http://example.com:443/',
    'https://example.com:80/',
    'https://xn--bcher-kva.example',
  ],
  ...[
    'https://bücher.example/',
    'https://a_b.example.com',
    `https://${'a'.repeat(63)}.example.com`,
    'https://8.8.8.8/',
    'https://134744072/',
  ],
  ...[
    'https://[2606:4700::1111]/',
    'https://[::ffff:8.8.8.8]/',
    'https://localhost.example.com/',
    'https://notlocalhost/',
    'https://@example.com/',
  ],
  ...[
    'https://internal.example.com/',
    'https://metadata.example.com',
    'https:\\\\example.com\\a',
    'https://exam\tple.com/',
  ],
])('%s may be sent to', (url) => {
  expect(guard.check(url)).toBeUndefined()
})

test('a refusal names the target by its origin alone, and what to do', () => {
  const refusal = guard.check('https://example.com:22/secret-path?token=secret')
  expect(refusal?.message).toBe(
    "'https://example.com:22' is refused: only ports 80 and 443 are sent to, unless targets name another",
  )
  expect(guard.check('http://user:secret@example.com')?.message).not.toContain('secret')
})
