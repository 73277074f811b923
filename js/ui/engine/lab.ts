/**
 * The core's third module: crowds, storms and the comparison of strategies, which `@redrive/ui` shows. No queue loads it.
 *
 * One instance serves the page or Worker. One that traps is dropped with all that runs on it, and another is made; so is one that
 * a crowd of a million has left large, as soon as nothing runs, since a memory never shrinks.
 */

import { RedriveError } from 'redrive'
import { bindGlue, errorText, once, unpack } from 'redrive/internal'
import * as glue from '../../core/generated/lab/glue.js'
import packed from '../../core/generated/lab/packed.js'

export type { LabCrowd, LabFrontier, LabOutage } from '../../core/generated/lab/glue.js'

/** An instance may keep so much memory for the next question. */
const KEPT_BYTES = 1 << 26

export class Lab {
  readonly #memory: WebAssembly.Memory
  /** How many runs are not freed. */
  #running = 0
  #isTrapped = false

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory
  }

  /** Whether another instance has to take its place before anything else is asked. */
  get isWornOut(): boolean {
    return this.#isTrapped || (this.#running === 0 && this.#memory.buffer.byteLength > KEPT_BYTES)
  }

  /** Makes something that runs. An error that is no trap says which option of a policy the core does not take. */
  start<T>(make: (module: typeof glue) => T): T {
    const made = this.ask(() => make(glue))
    this.#running++
    return made
  }

  /** Asks what was made here; throws `CORE_TRAPPED` from a trap on. */
  ask<T>(question: () => T): T {
    if (this.#isTrapped) throw trapped('before')
    try {
      return question()
    } catch (error) {
      // the module's own words are given and not trapped
      if ((error as Error).constructor === Error) throw error
      this.#isTrapped = true
      throw trapped(errorText(error), error)
    }
  }

  /** Frees what was made here. */
  end(made: { free(): void }): void {
    this.#running--
    // Nothing of an instance that has trapped is safe to call; and no finalizer may free its pointer in the next one.
    if (this.#isTrapped) (made as unknown as { __destroy_into_raw(): number }).__destroy_into_raw()
    else made.free()
  }

  /** Nothing is asked of it any more. The glue keeps views of its memory: they end with its buffer. */
  drop(): void {
    this.#memory.grow(0)
  }
}

const trapped = (why: string, cause?: unknown): RedriveError =>
  new RedriveError('CORE_TRAPPED', `the module of the lab stopped (${why}): a new instance is made; ask again`, {
    cause,
  })

const compiled = once(async () => WebAssembly.compile(await unpack(packed)))

let current: Promise<Lab> | undefined

const makeLab = async (): Promise<Lab> => {
  const { memory } = (await bindGlue(glue, await compiled(), 'lab', true)) as { readonly memory: WebAssembly.Memory }
  return new Lab(memory)
}

/** The instance to ask. */
export async function instantiateLab(): Promise<Lab> {
  const before = current
  const lab = await before?.catch(() => undefined) // told to the one who asked for it; the next one tries anew
  if (current === before && (lab === undefined || lab.isWornOut)) {
    lab?.drop()
    current = makeLab()
  }
  return current as Promise<Lab>
}
