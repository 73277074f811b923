/**
 * The class of a header by its name, as the core's rules have it. The core is asked once for each name: programs send the same few
 * over and over, and a name costs more to cross than to be looked up. Only names are remembered, never a value.
 */

import { utf8 } from '../platform/utf8.ts'
import { HEADER_REFUSED } from './codes.ts'
import type { Engine } from './engine.ts'
import type { HeaderRules } from './generated/queue/glue.js'

export interface NameVerdict {
  /** In lower case. */
  readonly name: string
  /** `HEADER_KEPT` and its like. */
  readonly kind: number
}

/** Names remembered, and the characters of the longest: others are asked about each time. */
const MAX_KNOWN = 256
const MAX_LENGTH = 64

export class HeaderNames {
  readonly #engine: Engine
  readonly #rules: HeaderRules
  readonly #known = new Map<string, NameVerdict>()

  /** Without lists: the built-in rules alone. */
  constructor(engine: Engine, persist: readonly string[] = [], deny: readonly string[] = []) {
    const sizes = engine.scratch.all([persist.join('\n'), deny.join('\n')])
    this.#engine = engine
    this.#rules = new engine.glue.HeaderRules(...(sizes as [number, number]))
  }

  /** One for each of the names, which may be in any case. Throws if one of them is no name. */
  verdicts(names: readonly string[]): readonly NameVerdict[] {
    const verdicts = names.map((name) => this.#known.get(name))
    return verdicts.includes(undefined) ? this.#ask(names) : (verdicts as NameVerdict[])
  }

  free(): void {
    this.#rules.free()
  }

  #ask(names: readonly string[]): readonly NameVerdict[] {
    const { scratch } = this.#engine
    // the core takes names in any case
    const count = this.#rules.classify(scratch.text(names.join('\n')))
    const kinds = scratch.answer(count).slice()
    // one that is empty, holds a line break, or becomes a token only when it is lowered is not one name to the core
    const refused = names.findIndex((name, i) => !/^[!-~]+$/.test(name) || kinds[i] === HEADER_REFUSED)
    if (refused >= 0) {
      throw new TypeError(`headers: expected names that are RFC 9110 tokens; number ${refused + 1} is not one`)
    }
    return names.map((given, i) => {
      const isKept = given.length <= MAX_LENGTH
      // a part of a longer text keeps all of it in memory, and the text of a request has secrets
      const key = isKept ? String.fromCharCode(...utf8(given)) : given
      const verdict = { name: key.toLowerCase(), kind: kinds[i] as number }
      if (isKept) {
        if (this.#known.size >= MAX_KNOWN) this.#known.clear()
        this.#known.set(key, verdict)
      }
      return verdict
    })
  }
}
