/**
 * The addresses that the service never connects to unless its operator opens their range. A target is named by a stranger, and the
 * service stands inside a network: an address that only that network can reach, a cloud's metadata or the host itself would answer
 * it. Everything is decided on bytes, never on spelling.
 */

/** The name of a refused range, as errors show it and as the label of `redrive_target_refused_total`. */
export type AddressRule =
  | 'metadata'
  | 'this-network'
  | 'private'
  | 'shared'
  | 'loopback'
  | 'link-local'
  | 'protocol'
  | 'documentation'
  | '6to4-relay'
  | 'benchmarking'
  | 'multicast'
  | 'broadcast'
  | 'reserved'
  | 'unspecified'
  | 'v4-compatible'
  | 'v4-mapped'
  | 'nat64'
  | 'nat64-local'
  | '6to4'
  | 'discard'
  | 'teredo'
  | 'orchid'
  | 'segment-routing'
  | 'unique-local'
  | 'site-local'
  | 'zone-id'
  | 'unreadable'

/** One row of the table of refused ranges. The first row that holds an address decides. */
export interface RefusedRange {
  readonly cidr: string
  readonly rule: AddressRule
  /** The use of the range, in the words of its source. */
  readonly use: string
  readonly source: string
  /** The byte at which an IPv4 address stands in it: the range is judged by that address. */
  readonly v4At?: number
}

const IANA_V6 = 'IANA IPv6 Address Space'

/** Sources: the IANA special-purpose address registries (RFC 6890), the IPv6 address space, and the documents of clouds. */
export const REFUSED_RANGES: readonly RefusedRange[] = [
  { cidr: '169.254.169.254/32', rule: 'metadata', use: 'instance metadata of most clouds', source: 'AWS, Azure, GCP' },
  { cidr: '169.254.170.2/32', rule: 'metadata', use: 'credentials of ECS tasks', source: 'AWS' },
  { cidr: '169.254.170.23/32', rule: 'metadata', use: 'credentials of EKS pods', source: 'AWS' },
  { cidr: '100.100.100.200/32', rule: 'metadata', use: 'instance metadata', source: 'Alibaba Cloud' },
  { cidr: '192.0.0.192/32', rule: 'metadata', use: 'instance metadata', source: 'Oracle Cloud' },
  { cidr: '169.254.42.42/32', rule: 'metadata', use: 'instance metadata', source: 'Scaleway' },
  { cidr: '169.254.0.23/32', rule: 'metadata', use: 'instance metadata', source: 'Tencent Cloud' },
  { cidr: '168.63.129.16/32', rule: 'metadata', use: 'the platform of virtual machines', source: 'Azure' },
  { cidr: '0.0.0.0/8', rule: 'this-network', use: '"This network"', source: 'RFC 791' },
  { cidr: '10.0.0.0/8', rule: 'private', use: 'Private-Use', source: 'RFC 1918' },
  { cidr: '100.64.0.0/10', rule: 'shared', use: 'Shared Address Space', source: 'RFC 6598' },
  { cidr: '127.0.0.0/8', rule: 'loopback', use: 'Loopback', source: 'RFC 1122' },
  { cidr: '169.254.0.0/16', rule: 'link-local', use: 'Link Local', source: 'RFC 3927' },
  { cidr: '172.16.0.0/12', rule: 'private', use: 'Private-Use', source: 'RFC 1918' },
  { cidr: '192.0.0.0/24', rule: 'protocol', use: 'IETF Protocol Assignments', source: 'RFC 6890' },
  { cidr: '192.0.2.0/24', rule: 'documentation', use: 'Documentation (TEST-NET-1)', source: 'RFC 5737' },
  { cidr: '192.88.99.0/24', rule: '6to4-relay', use: 'Deprecated (6to4 Relay Anycast)', source: 'RFC 7526' },
  { cidr: '192.168.0.0/16', rule: 'private', use: 'Private-Use', source: 'RFC 1918' },
  { cidr: '198.18.0.0/15', rule: 'benchmarking', use: 'Benchmarking', source: 'RFC 2544' },
  { cidr: '198.51.100.0/24', rule: 'documentation', use: 'Documentation (TEST-NET-2)', source: 'RFC 5737' },
  { cidr: '203.0.113.0/24', rule: 'documentation', use: 'Documentation (TEST-NET-3)', source: 'RFC 5737' },
  { cidr: '224.0.0.0/4', rule: 'multicast', use: 'Multicast', source: 'RFC 5771' },
  { cidr: '255.255.255.255/32', rule: 'broadcast', use: 'Limited Broadcast', source: 'RFC 8190' },
  { cidr: '240.0.0.0/4', rule: 'reserved', use: 'Reserved', source: 'RFC 1112' },

  { cidr: 'fd00:ec2::254/128', rule: 'metadata', use: 'instance metadata', source: 'AWS' },
  { cidr: 'fd00:ec2::23/128', rule: 'metadata', use: 'credentials of EKS pods', source: 'AWS' },
  { cidr: 'fd20:ce::254/128', rule: 'metadata', use: 'instance metadata', source: 'GCP' },
  { cidr: 'fd00:100::100:200/128', rule: 'metadata', use: 'instance metadata', source: 'Alibaba Cloud' },
  { cidr: 'fd00:c1::a9fe:a9fe/128', rule: 'metadata', use: 'instance metadata', source: 'Oracle Cloud' },
  { cidr: 'fd00:42::42/128', rule: 'metadata', use: 'instance metadata', source: 'Scaleway' },
  { cidr: 'fd00:a9fe:a9fe::1/128', rule: 'metadata', use: 'instance metadata', source: 'Akamai' },
  { cidr: 'fe80::a9fe:a9fe/128', rule: 'metadata', use: 'instance metadata', source: 'OpenStack' },
  { cidr: '::/128', rule: 'unspecified', use: 'Unspecified Address', source: 'RFC 4291' },
  { cidr: '::1/128', rule: 'loopback', use: 'Loopback Address', source: 'RFC 4291' },
  { cidr: '::/96', rule: 'v4-compatible', use: 'IPv4-Compatible Address, deprecated', source: 'RFC 4291' },
  { cidr: '::ffff:0:0/96', rule: 'v4-mapped', use: 'IPv4-mapped Address', source: 'RFC 4291', v4At: 12 },
  { cidr: '64:ff9b::/96', rule: 'nat64', use: 'IPv4-IPv6 Translation', source: 'RFC 6052', v4At: 12 },
  // its IPv4 address stands where the network's operator has put it, so none can be read out of it
  { cidr: '64:ff9b:1::/48', rule: 'nat64-local', use: 'IPv4-IPv6 Translation, local use', source: 'RFC 8215' },
  { cidr: '100::/64', rule: 'discard', use: 'Discard-Only Address Block', source: 'RFC 6666' },
  { cidr: '100:0:0:1::/64', rule: 'discard', use: 'Dummy IPv6 Prefix', source: 'RFC 9780' },
  { cidr: '2001::/32', rule: 'teredo', use: 'TEREDO', source: 'RFC 4380' },
  { cidr: '2001:2::/48', rule: 'benchmarking', use: 'Benchmarking', source: 'RFC 5180' },
  { cidr: '2001:10::/28', rule: 'orchid', use: 'Deprecated (ORCHID)', source: 'RFC 4843' },
  { cidr: '2001:20::/28', rule: 'orchid', use: 'ORCHIDv2', source: 'RFC 7343' },
  { cidr: '2001:db8::/32', rule: 'documentation', use: 'Documentation', source: 'RFC 3849' },
  { cidr: '2002::/16', rule: '6to4', use: '6to4', source: 'RFC 3056', v4At: 2 },
  { cidr: '3fff::/20', rule: 'documentation', use: 'Documentation', source: 'RFC 9637' },
  { cidr: '5f00::/16', rule: 'segment-routing', use: 'Segment Routing (SRv6) SIDs', source: 'RFC 9602' },
  { cidr: 'fc00::/7', rule: 'unique-local', use: 'Unique-Local', source: 'RFC 4193' },
  { cidr: 'fe80::/10', rule: 'link-local', use: 'Link-Local Unicast', source: 'RFC 4291' },
  { cidr: 'fec0::/10', rule: 'site-local', use: 'Site-Local Unicast, deprecated', source: 'RFC 3879' },
  { cidr: 'ff00::/8', rule: 'multicast', use: 'Multicast', source: 'RFC 4291' },
  // all but 2000::/3: nothing on the Internet has such an address, a network of its own may
  ...['::/8', '100::/8', '200::/7', '400::/6', '800::/5', '1000::/4', '4000::/3', '6000::/3', '8000::/3'].map(reserved),
  ...['a000::/3', 'c000::/3', 'e000::/4', 'f000::/5', 'f800::/6', 'fe00::/9'].map(reserved),
]

function reserved(cidr: string): RefusedRange {
  return { cidr, rule: 'reserved', use: 'Reserved by IETF', source: IANA_V6 }
}

/** A range of addresses: those whose first `bits` are those of `bytes`, which has 4 bytes or 16. */
export interface Cidr {
  readonly bytes: Uint8Array
  readonly bits: number
}

const TABLE: readonly (RefusedRange & Cidr)[] = REFUSED_RANGES.map((row) => ({
  ...row,
  ...parseCidr(row.cidr, 'range'),
}))
const MAPPED = parseCidr('::ffff:0:0/96', 'range', true)

/** The bytes of an address, 4 or 16; undefined: `text` is no address. IPv4 has four decimal parts here, as resolvers and sockets give it. */
export function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text)
}

function parseV4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  const isSound = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  return isSound ? Uint8Array.from(parts, Number) : undefined
}

/** RFC 4291, section 2.2. */
function parseV6(text: string): Uint8Array | undefined {
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return undefined
  const front = groupsOf(head, tail === undefined)
  const back = tail === undefined ? [] : groupsOf(tail, true)
  if (!front || !back) return undefined
  const missing = 16 - front.length - back.length
  // '::' stands for one group of zeros at least
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined
  return Uint8Array.from([...front, ...new Array<number>(missing).fill(0), ...back])
}

/** The bytes of groups with colons between them. `isLast`: an IPv4 address may be the last of them. */
function groupsOf(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [at, group] of groups.entries()) {
    const v4 = isLast && at === groups.length - 1 && group.includes('.') ? parseV4(group) : undefined
    if (v4) bytes.push(...v4)
    else if (/^[0-9a-f]{1,4}$/i.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return undefined
  }
  return bytes
}

/**
 * A range such as `10.1.0.0/16`, or one address. `option`: the name of the option that it was given to.
 *
 * @throws TypeError for anything else, with the fix
 */
export function parseCidr(text: string, option: string, mayBeMapped: boolean = option === 'range'): Cidr {
  const [address = '', length, ...more] = text.split('/')
  const bytes = parseAddress(address)
  if (!bytes || more.length > 0) {
    throw new TypeError(
      `${option}: '${text}' is no range of addresses; write one such as 10.1.0.0/16 or fd12:3456::/32`,
    )
  }
  const most = bytes.length * 8
  const bits = length === undefined ? most : Number(length)
  if (!/^\d{1,3}$/.test(length ?? '0') || bits > most) {
    throw new TypeError(`${option}: '${text}' has '/${length}' at its end; expected /0 to /${most}`)
  }
  const cidr = { bytes, bits }
  if (bytes.some((byte, at) => (byte & maskAt(bits, at)) !== byte)) {
    throw new TypeError(
      `${option}: '${text}' has bits set beyond its first ${bits}; write the first address of the range`,
    )
  }
  if (!mayBeMapped && bits >= MAPPED.bits && holds(MAPPED, bytes)) {
    throw new TypeError(`${option}: '${text}' is IPv4 inside IPv6; write it as IPv4, which opens both`)
  }
  return cidr
}

/** The bits of the byte at `at` that belong to a prefix of `bits`. */
function maskAt(bits: number, at: number): number {
  return 0xff & ~(0xff >> Math.min(8, Math.max(0, bits - at * 8)))
}

function holds({ bytes, bits }: Cidr, address: Uint8Array): boolean {
  return (
    bytes.length === address.length && bytes.every((byte, at) => (((address[at] ?? 0) ^ byte) & maskAt(bits, at)) === 0)
  )
}

/**
 * The rule by which the service does not connect to an address; undefined: it may. `opened`: the ranges that the operator has opened.
 * Metadata addresses are opened by themselves only, not by a range around them.
 */
export function refusalOf(address: string, opened: readonly Cidr[] = []): AddressRule | undefined {
  if (address.includes('%')) return 'zone-id'
  const bytes = parseAddress(address)
  return bytes ? ruleOf(bytes, opened) : 'unreadable'
}

function ruleOf(bytes: Uint8Array, opened: readonly Cidr[]): AddressRule | undefined {
  const row = TABLE.find((range) => holds(range, bytes))
  if (!row) return undefined
  const around = opened.filter((range) => holds(range, bytes))
  if (row.v4At === undefined) {
    const isOpen = row.rule === 'metadata' ? around.some(({ bits }) => bits === row.bits) : around.length > 0
    return isOpen ? undefined : row.rule
  }
  const inside = ruleOf(bytes.subarray(row.v4At, row.v4At + 4), opened)
  // a socket to a mapped address is one to the address inside: ranges of IPv4 alone say whether it is open
  return inside === 'metadata' || row.rule === 'v4-mapped' || around.length === 0 ? inside : undefined
}

/** Whether an address is the host itself: 127.0.0.0/8, also as IPv6 writes it, or ::1. */
export function isLoopback(address: string): boolean {
  const bytes = parseAddress(address)
  if (!bytes) return false
  const isMapped = holds(MAPPED, bytes)
  const row = TABLE.find((range) => holds(range, isMapped ? bytes.subarray(12) : bytes))
  return row?.rule === 'loopback'
}
