// What the page offers to the bench. One page is one contestant: each has an origin of its own, and with it files of its own.
import { peers } from './peers.mjs'
import { timed } from './requests.mjs'
import { turns } from './turns.mjs'
import { ways } from './waiting.mjs'

let peer

globalThis.bench = {
  peers: () => Object.entries(peers).map(([name, { strict, onlyLists = false }]) => ({ name, strict, onlyLists })),
  ways: () => Object.entries(ways).map(([name, { origin, fill }]) => ({ name, origin, fills: fill !== undefined })),
  async keep(name, count, atOnce) {
    peer ??= await peers[name].open()
    return timed(peer, count, atOnce)
  },
  fill: (name, count) => ways[name].fill(count),
  takeUp: (name) => ways[name].takeUp(),
  turns,
}
