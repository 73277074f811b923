// The key of a request whose body is JSON: canonical form (RFC 8785) and SHA-256, from the text. The others parse, print
// with `canonicalize` and hash the same fields.
import canonicalize from 'canonicalize'
import { instantiateKeys } from '../../../js/core/keys-file.ts'
import { Framing } from '../framing.mjs'
import { hashers } from '../hashers.mjs'

const METHOD = 'POST'
const URL = 'https://api.example.test/v1/orders'
const TYPE = 'application/json'

/**
 * An order as a shop sends it: objects three deep, members in the order somebody wrote them, seven numbers
 * in ten decimals, text with quotes, line ends, accents and a symbol beyond 16 bits.
 */
const line = (i) => ({
  sku: `SKU-${(i * 7919) % 100_000}`,
  quantity: 1 + (i % 7),
  price: { currency: 'EUR', amount: ((i * 1_237) % 20_000) / 100, net: ((i * 1_039) % 16_807) / 1_000 },
  title: i % 3 === 0 ? `Café "Größe ${i}"` : `Filter paper, pack of ${i * 10}`,
  options: { gift: i % 4 === 0, engraving: null, color: ['red', 'green', 'blue'][i % 3] },
  note: i % 5 === 0 ? 'ring twice\nleave at\tthe "back" door \u{1f6aa}' : '',
  weightKg: (i % 90) / 8,
})

const orderOf = (lines) => ({
  orderId: 'ord_01JD3ZK6',
  customer: { name: 'Zoë Müller', id: 4711, email: 'zoe@example.test', vip: false },
  createdAt: '2026-11-21T12:00:00.000Z',
  lines: Array.from({ length: lines }, (_, i) => line(i + 1)),
  totals: { net: 1234.5, gross: 1469.06, rate: 0.19 },
  address: { zip: '20095', city: 'Hamburg', street: 'Steinstraße 7', country: 'DE' },
})

/** A track of GPS points: hardly anything but decimals of up to 17 digits. */
const trackOf = (points) => ({
  type: 'LineString',
  coordinates: Array.from({ length: points }, (_, i) => [
    9.9936 + Math.sin(i / 9) / 70,
    53.5511 + Math.cos(i / 7) / 90,
    Math.round(((i * 37) % 900) + i / 3) / 10,
  ]),
})

/** Name -> text. */
export const documents = {
  'order, 1.2 KB': JSON.stringify(orderOf(4)),
  'order, 11 KB': JSON.stringify(orderOf(52)),
  'order, 108 KB': JSON.stringify(orderOf(522)),
  'track, 11 KB': JSON.stringify(trackOf(262)),
}

export async function groups(env) {
  const [keys, others] = await Promise.all([instantiateKeys(), hashers(env)])
  const framing = new Framing()
  return Object.entries(documents).map(([name, body]) => {
    const material = { method: METHOD, url: URL, contentType: TYPE, body }
    const framed = () =>
      framing.of(['redrive key 1', METHOD, URL, TYPE, 'canonical', canonicalize(JSON.parse(body)), '', '', ''])
    return {
      name,
      same: true,
      rounds: 31,
      contestants: {
        'redrive, contentKey': () => keys.contentKey(material, { principal: null, scope: '', nonce: '' }),
        ...Object.fromEntries(
          Object.entries(others).map(([who, hash]) => [`parse, canonicalize, ${who}`, () => hash(framed())]),
        ),
      },
    }
  })
}
