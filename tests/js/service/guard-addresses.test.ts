/** Addresses that are refused: the table at its edges, and against a model that shares no code with it. */

import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLoopback, parseAddress, parseCidr, REFUSED_RANGES, refusalOf } from '../../../js/service/addresses.ts'
import { bySize } from '../../size.ts'

/** An address as one number, and its family. */
const numberOf = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

const textOf = (value: bigint, bytes: number): string => {
  const parts = Array.from({ length: bytes }, (_, at) => Number((value >> BigInt(8 * (bytes - 1 - at))) & 255n))
  if (bytes === 4) return parts.join('.')
  const group = (at: number) => (((parts[2 * at] ?? 0) << 8) | (parts[2 * at + 1] ?? 0)).toString(16)
  return Array.from({ length: 8 }, (_, at) => group(at)).join(':')
}

const spanOf = (cidr: string) => {
  const { bytes, bits } = parseCidr(cidr, 'range')
  const first = numberOf(bytes)
  const last = first + (1n << BigInt(bytes.length * 8 - bits)) - 1n
  return { first, last, bytes: bytes.length, max: (1n << BigInt(bytes.length * 8)) - 1n }
}

/** Node's own lists, of all ranges that are refused whatever stands in them. Two, since in one of them ::/8 holds all of IPv4. */
const [model4, model6] = [new BlockList(), new BlockList()]
for (const { cidr, v4At } of REFUSED_RANGES) {
  const [address = '', bits] = cidr.split('/')
  if (v4At !== undefined) continue
  if (isIPv4(address)) model4.addSubnet(address, Number(bits), 'ipv4')
  else model6.addSubnet(address, Number(bits), 'ipv6')
}
const isRefused = (address: string): boolean => {
  if (isIPv4(address)) return model4.check(address, 'ipv4')
  const bytes = parseAddress(address) ?? new Uint8Array()
  // the IPv4 address stands last in ::ffff:0:0/96 and 64:ff9b::/96, and after the prefix in 2002::/16
  const hex = Buffer.from(bytes).toString('hex')
  const v4 = /^(?:0{20}ffff|0064ff9b0{16})(.{8})$|^2002(.{8})/.exec(hex)
  const inside = v4?.[1] ?? v4?.[2]
  if (inside) return model4.check(textOf(BigInt(`0x${inside}`), 4), 'ipv4')
  return model6.check(address, 'ipv6')
}

describe('the table', () => {
  const rows = REFUSED_RANGES.filter(({ v4At }) => v4At === undefined).map((row) => [row.cidr, row.rule] as const)

  test.each(rows)('%s is refused from its first address to its last (%s)', (cidr, rule) => {
    const { first, last, bytes } = spanOf(cidr)
    for (const edge of [first, last]) expect(refusalOf(textOf(edge, bytes)), textOf(edge, bytes)).toBeDefined()
    // an address in it that no row before it holds has its rule
    const at = REFUSED_RANGES.findIndex((row) => row.cidr === cidr)
    const others = REFUSED_RANGES.slice(0, at).map(({ cidr }) => spanOf(cidr))
    const own = [first, last].filter(
      (edge) => !others.some((o) => o.bytes === bytes && o.first <= edge && edge <= o.last),
    )
    for (const edge of own) expect(refusalOf(textOf(edge, bytes))).toBe(rule)
  })

  test.each(rows)('the addresses before and after %s are judged by their own range', (cidr) => {
    const { first, last, bytes, max } = spanOf(cidr)
    const neighbours = [first - 1n, last + 1n].filter((value) => value >= 0n && value <= max)
    for (const value of neighbours) {
      const address = textOf(value, bytes)
      expect(refusalOf(address) !== undefined, address).toBe(isRefused(address))
    }
  })

  test.each(
    (
      '1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 ' +
      '169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 ' +
      '192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 ' +
      '203.0.114.0 223.255.255.255 8.8.8.8 168.63.129.15 168.63.129.17 2000:: 2001:1:: ' +
      '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2003:: 3ffe:ffff:: 3fff:1000:: 2606:4700::1111 ' +
      '2a00:1450:4001:80b::200e ::ffff:8.8.8.8 ::ffff:808:808 64:ff9b::8.8.8.8 2002:808:808::1'
    ).split(' '),
  )('%s is public', (address) => {
    expect(refusalOf(address)).toBeUndefined()
  })

  test.each([
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:10.0.0.1', 'private'],
    ['::FFFF:A9FE:A9FE', 'metadata'],
    ['64:ff9b::10.0.0.1', 'private'],
    ['64:ff9b::a9fe:a9fe', 'metadata'],
    ['64:ff9b:1::8.8.8.8', 'nat64-local'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:c0a8:101::5', 'private'],
    ['::127.0.0.1', 'v4-compatible'],
    ['fe80::1%eth0', 'zone-id'],
    ['::1%lo', 'zone-id'],
    ['2606:4700::1%1', 'zone-id'],
    ['169.254.169.254', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['255.255.255.255', 'broadcast'],
    ['4000::1', 'reserved'],
  ])('%s is refused (%s)', (address, rule) => {
    expect(refusalOf(address)).toBe(rule)
  })

  test.each([
    ...['', '1.2.3.4 ', '1.2.3.4\n', '٣.٣.٣.٣', 'localhost'],
    ...'127.1 0x7f.0.0.1 0177.0.0.1 2130706433 1.2.3.4.5 1.2.3 256.1.1.1 1.2.3.4:: ::1.2.3 ::ffff:256.1.1.1'.split(' '),
    ...'[::1] ::: 1::2::3 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7::8 12345:: g:: :1:: 1::2:'.split(' '),
  ])('%j, which is no address, is refused', (address) => {
    expect(refusalOf(address)).toBe('unreadable')
  })
})

const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 })
const near = fc
  .constantFrom(...REFUSED_RANGES.map(({ cidr }) => spanOf(cidr)))
  .chain(({ first, last, bytes, max }) =>
    fc
      .tuple(fc.constantFrom(first, last), fc.bigInt(-3n, 3n))
      .map(([edge, by]) => ({ value: edge + by < 0n ? 0n : edge + by > max ? max : edge + by, bytes })),
  )
const anywhere = fc.oneof(
  v4.map((bytes) => ({ value: numberOf(bytes), bytes: 4 })),
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => ({ value: numberOf(bytes), bytes: 16 })),
  v4.map((bytes) => ({ value: (0xffffn << 32n) | numberOf(bytes), bytes: 16 })),
  v4.map((bytes) => ({ value: (0x64ff9bn << 96n) | numberOf(bytes), bytes: 16 })),
  v4.map((bytes) => ({ value: (0x2002n << 112n) | (numberOf(bytes) << 80n), bytes: 16 })),
  near,
)

test('an address is refused where a model over Node’s BlockList refuses it, and nowhere else', () => {
  fc.assert(
    fc.property(anywhere, ({ value, bytes }) => {
      const address = textOf(value, bytes)
      expect(refusalOf(address) !== undefined, address).toBe(isRefused(address))
    }),
    { numRuns: bySize(64, 2_000, 20_000) },
  )
})

test('text is an address where Node says so, whatever it is', () => {
  const piece = fc.constantFrom('0', '1', 'ff', 'abcd', '00000', '256', '01', ':', '::', '.', '127', '%', 'x', ' ', '')
  const text = fc.oneof(
    fc.array(piece, { maxLength: 16 }).map((parts) => parts.join('')),
    fc.ipV4(),
    fc.ipV6(),
    fc.string(),
  )
  fc.assert(
    fc.property(text, (address) => {
      const isKnown = isIPv4(address) || (isIPv6(address) && !address.includes('%'))
      expect(parseAddress(address) !== undefined, address).toBe(isKnown)
    }),
    { numRuns: bySize(64, 2_000, 20_000) },
  )
})

test('every spelling of an IPv6 address has the bytes that Node reads in it', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const list = new BlockList()
      list.addAddress(textOf(numberOf(parseAddress(address) ?? new Uint8Array()), 16), 'ipv6')
      expect(isIP(address)).toBe(6)
      expect(list.check(address, 'ipv6'), address).toBe(true)
    }),
  )
})

describe('opened ranges', () => {
  const open = (...ranges: string[]) => ranges.map((range) => parseCidr(range, 'allowPrivate'))

  test.each([
    ['10.1.2.3', '10.1.0.0/16'],
    ['::ffff:10.1.2.3', '10.1.0.0/16'],
    ['64:ff9b::10.1.2.3', '10.1.0.0/16'],
    ['2002:a01:203::1', '10.1.0.0/16'],
    ['10.1.2.3', '10.1.2.3'],
    ['fd12:3456::1', 'fd12:3456::/32'],
    ['64:ff9b::10.1.2.3', '64:ff9b::/96'],
    ['127.0.0.1', '0.0.0.0/0'],
    ['169.254.169.254', '169.254.169.254/32'],
    ['fd00:ec2::254', 'fd00:ec2::254'],
  ])('%s may be connected to where %s is opened', (address, range) => {
    expect(refusalOf(address, open(range))).toBeUndefined()
  })

  test.each([
    ['10.2.0.0', '10.1.0.0/16', 'private'],
    ['10.0.255.255', '10.1.0.0/16', 'private'],
    // a range around metadata is opened for other things
    ['169.254.169.254', '169.254.0.0/16', 'metadata'],
    ['169.254.169.254', '0.0.0.0/0', 'metadata'],
    ['100.100.100.200', '100.64.0.0/10', 'metadata'],
    ['fd00:ec2::254', 'fd00::/8', 'metadata'],
    ['fd00:ec2::254', '::/0', 'metadata'],
    ['169.254.42.42', '169.254.0.0/16', 'metadata'],
    ['169.254.0.23', '169.254.0.0/16', 'metadata'],
    ['192.0.0.192', '192.0.0.0/24', 'metadata'],
    ['192.0.0.192', '0.0.0.0/0', 'metadata'],
    ['fd00:42::42', 'fc00::/7', 'metadata'],
    ['fd00:c1::a9fe:a9fe', 'fd00::/8', 'metadata'],
    ['fd00:a9fe:a9fe::1', 'fd00::/8', 'metadata'],
    ['fd00:100::100:200', '::/0', 'metadata'],
    ['fe80::a9fe:a9fe', 'fe80::/10', 'metadata'],
    ['FE80:0::A9FE:A9FE', '::/0', 'metadata'],
    ['::ffff:192.0.0.192', '0.0.0.0/0', 'metadata'],
    ['::ffff:169.254.169.254', '::/0', 'metadata'],
    ['64:ff9b::169.254.169.254', '64:ff9b::/96', 'metadata'],
    ['::ffff:10.0.0.1', '::/0', 'private'],
    ['10.0.0.1', '::/0', 'private'],
    ['fe80::1%eth0', 'fe80::/10', 'zone-id'],
    ['nonsense', '0.0.0.0/0', 'unreadable'],
  ])('%s is still refused where %s is opened (%s)', (address, range, rule) => {
    expect(refusalOf(address, open(range))).toBe(rule)
  })

  test.each([
    ['10.0.0.0/33', '/0 to /32'],
    ['10.0.0.0/-1', '/0 to /32'],
    ['10.0.0.0/', '/0 to /32'],
    ['10.0.0.0/8.5', '/0 to /32'],
    ['::/129', '/0 to /128'],
    ['10.1.2.3/8', 'first address of the range'],
    ['fd00::1/8', 'first address of the range'],
    ['10.0.0.0/8/8', 'no range of addresses'],
    ['10.0.0', 'no range of addresses'],
    ['010.0.0.0/8', 'no range of addresses'],
    ['localhost', 'no range of addresses'],
    ['', 'no range of addresses'],
    ['::ffff:10.0.0.0/104', 'write it as IPv4'],
  ])('%j is refused as a range, and the error says what to write', (range, why) => {
    expect(() => parseCidr(range, 'allowPrivate')).toThrow(TypeError)
    expect(() => parseCidr(range, 'allowPrivate')).toThrow(`allowPrivate: '${range}'`)
    expect(() => parseCidr(range, 'allowPrivate')).toThrow(why)
  })
})

test.each([
  ['127.0.0.1', true],
  ['127.255.255.255', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['128.0.0.0', false],
  ['::2', false],
  ['64:ff9b::127.0.0.1', false],
  ['2002:7f00:1::', false],
  ['::127.0.0.1', false],
  ['0.0.0.0', false],
  ['nonsense', false],
])('%s is the host itself: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})

test('every row names its use and its source, and no range stands there twice', () => {
  for (const { use, source } of REFUSED_RANGES) expect(use.length * source.length).toBeGreaterThan(0)
  expect(new Set(REFUSED_RANGES.map(({ cidr }) => cidr)).size).toBe(REFUSED_RANGES.length)
})
