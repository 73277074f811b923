/**
 * Connections to the service, shared out. Anyone may open one, with a token or without, so a client that opens all there are would keep out
 * tenants and probes. While there is room every one is taken. Once there is none, a new one takes the place of another: of one that carries
 * nothing, of the peer that has most. A few are kept for probes.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from 'redrive'
import { parseAddress } from './addresses.ts'

const MOST_CONNECTIONS = 1_000
/** Beyond those: where no other can be closed, a new one may ask for a probe. */
const KEPT = 32
/** So soon it has to ask. */
const KEPT_MS = 2_000
/** A request that takes longer waits for something, or its client reads slowly. */
const HELD_MS = 10_000

/** Paths of probes and scrapers. */
const PROBE = /^\/(?:healthz|livez|readyz|metrics)(?:$|\?)/

interface Seat {
  readonly socket: Socket
  readonly peer: string
  readonly isKept: boolean
  leave(): void
  /** Requests under way. */
  requests: number
  /** When the last of them began, or ended; on the steady clock. */
  since: number
}

export class Connections {
  readonly #clock: Clock
  readonly #seats = new Map<string, Seat>()
  /** Those that are not kept for probes. */
  readonly #byPeer = new Map<string, Set<Seat>>()
  readonly #kept = new Set<Seat>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A connection was taken. */
  add(socket: Socket): void {
    const key = keyOf(socket)
    const peer = peerOf(socket.remoteAddress)
    const isKept = this.#seats.size - this.#kept.size >= MOST_CONNECTIONS && !this.#makeRoom(peer)
    const leave = (): void => this.#leave(key, seat)
    const seat: Seat = { socket, peer, isKept, leave, requests: 0, since: this.#clock.monotonic() }
    this.#seats.set(key, seat)
    socket.once('close', leave)
    if (isKept) this.#keep(seat)
    else this.#byPeer.set(peer, (this.#byPeer.get(peer) ?? new Set()).add(seat))
  }

  /** A request has come. False: its connection is one that is kept for probes, and it is none. */
  enter({ socket, method, url = '' }: IncomingMessage, outgoing: ServerResponse): boolean {
    const seat = this.#seats.get(keyOf(socket))
    if (!seat) return true
    seat.requests++
    seat.since = this.#clock.monotonic()
    outgoing.once('close', () => {
      seat.requests--
      seat.since = this.#clock.monotonic()
    })
    if (!seat.isKept) return true
    outgoing.shouldKeepAlive = false
    return (method === 'GET' || method === 'HEAD') && PROBE.test(url)
  }

  /** The oldest of those that are kept has had its turn. */
  #keep(seat: Seat): void {
    const [oldest] = this.#kept
    if (oldest && this.#kept.size >= KEPT) {
      oldest.leave()
      oldest.socket.destroy()
    }
    this.#kept.add(seat)
    const disarm = this.#clock.after(KEPT_MS, () => seat.requests === 0 && seat.socket.destroy(), true)
    seat.socket.once('close', disarm)
  }

  /**
   * Closes the connection that has carried nothing for longest, of the peer that has most, the new one's own included. Where all carry something: the one
   * that is held for longest, of a peer that has more than this one will have.
   */
  #makeRoom(peer: string): boolean {
    const own = this.#byPeer.get(peer)?.size ?? 0
    const larger = [...this.#byPeer]
      .filter(([each, seats]) => each === peer || seats.size > own)
      .sort(([, one], [, other]) => other.size - one.size)
    const heldSince = this.#clock.monotonic() - HELD_MS
    const found =
      firstOf(larger, ({ requests }) => requests === 0) ??
      firstOf(
        larger.filter(([, seats]) => seats.size > own + 1),
        ({ since }) => since <= heldSince,
      )
    if (!found) return false
    found.leave()
    found.socket.destroy()
    return true
  }

  #leave(key: string, seat: Seat): void {
    if (this.#seats.get(key) === seat) this.#seats.delete(key)
    this.#kept.delete(seat)
    const seats = this.#byPeer.get(seat.peer)
    seats?.delete(seat)
    if (seats?.size === 0) this.#byPeer.delete(seat.peer)
  }
}

/** The oldest that is so, of the first peer that has any. */
function firstOf(peers: readonly [string, ReadonlySet<Seat>][], isSo: (seat: Seat) => boolean): Seat | undefined {
  for (const [, seats] of peers) {
    let oldest: Seat | undefined
    for (const seat of seats) if (isSo(seat) && !(oldest && oldest.since <= seat.since)) oldest = seat
    if (oldest) return oldest
  }
  return undefined
}

/** With TLS the socket of a request is another object than the one that was taken. */
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/** One host has one address of IPv4, and of IPv6 as many as it likes below its /64. */
function peerOf(address = ''): string {
  const bytes = parseAddress(address.replace(/^::ffff:(?=\d+\.)/i, ''))
  return bytes?.length === 16 ? bytes.subarray(0, 8).toString() : address.replace(/^::ffff:/i, '')
}
