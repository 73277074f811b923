import * as codes from '../../js/core/codes.ts'
import { instantiate as instantiateCore } from '../../js/core/file.ts'
import { assemble } from '../../js/queue/assemble.ts'
import type { EngineModule } from '../../js/queue/core-loader.ts'
import { chunks } from './chunks.ts'

/** The number of a call, `holdFirst` for OP_HOLD_FIRST; undefined: it is no call by number. */
export const opNamed = (name: string): number | undefined =>
  (codes as unknown as Record<string, number | undefined>)[
    `OP_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
  ]

/** The engine, with one call of its core that traps when told; its timer does from then on. */
export function trappingAt(method: string): { load: () => Promise<EngineModule>; trap: () => void } {
  let armed = false
  return {
    trap: () => {
      armed = true
    },
    load: async () => {
      const instantiate = async () => {
        const engine = await instantiateCore()
        class Trapping extends engine.glue.CoreQueue {}
        const op = method in engine.glue.CoreQueue.prototype ? undefined : opNamed(method)
        for (const way of op === undefined ? [method] : ['call', 'send']) {
          const original = Reflect.get(engine.glue.CoreQueue.prototype, way) as (...args: unknown[]) => unknown
          Object.defineProperty(Trapping.prototype, way, {
            value(this: unknown, ...args: unknown[]) {
              if (armed && (op === undefined || op === args[0])) throw new WebAssembly.RuntimeError('unreachable')
              return original.apply(this, args)
            },
          })
        }
        // nothing of a module that trapped is safe to call
        class Timer extends engine.glue.WakeTimer {
          override free() {
            if (armed) throw new WebAssembly.RuntimeError('unreachable')
            super.free()
          }
        }
        return { ...engine, glue: { ...engine.glue, CoreQueue: Trapping, WakeTimer: Timer } }
      }
      return assemble(instantiate, chunks)
    },
  }
}
