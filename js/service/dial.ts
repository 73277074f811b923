/** Beginning a TCP connection: to checked addresses, and to nothing else. */

import { connect, isIP, type Socket } from 'node:net'

/** A host to dial, and the checked addresses that it is dialled at. */
export interface Dialled {
  readonly hostname: string
  readonly port: number
  readonly addresses: readonly string[]
}

/** Begins a TCP connection to one of the addresses, and to nothing else. */
export type Dial = (dialled: Dialled) => Socket

/** Dials by TCP. The name is resolved no more: it is answered from the addresses, one after another until one takes the call. */
export function dialTcp({ hostname, port, addresses }: Dialled): Socket {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return connect({
    host: hostname,
    port,
    lookup: (_, { all }, callback) => {
      const [first] = found
      if (all) callback(null, found)
      else callback(null, first?.address ?? '', first?.family)
    },
  })
}
