/** Draws a board as piles of bricks, one element per brick, touching only the pile that changed. */
export class Skyline {
  #root
  #piles = new Map()

  constructor(root) {
    this.#root = root
  }

  /** An empty street with room for these calls. */
  clear(calls) {
    this.#piles = new Map(
      calls.map(({ intent }) => [intent, Object.assign(document.createElement('div'), { className: 'pile' })]),
    )
    this.#root.replaceChildren(...this.#piles.values())
  }

  update({ intent, bricks, state, waitMs }) {
    const pile = this.#piles.get(intent)
    const wanted = state === 'waiting' ? [...bricks, 'waiting'] : bricks
    for (const [at, kind] of wanted.entries()) {
      const brick = pile.children[at] ?? pile.appendChild(document.createElement('i'))
      if (brick.dataset.brick === kind) continue
      brick.dataset.brick = kind
      if (kind === 'waiting') waitFor(brick, waitMs)
    }
    while (pile.children.length > wanted.length) pile.lastChild.remove()
  }

  /** The picture in a sentence, for screen readers. */
  describe(text) {
    this.#root.setAttribute('aria-label', text)
  }
}

/** The brick fills while a chosen wait runs; one that waits only for its turn stays empty. */
function waitFor(brick, waitMs) {
  brick.classList.toggle('timed', waitMs > 0)
  brick.style.setProperty('--wait', `${waitMs}ms`)
}
