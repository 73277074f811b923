import { instantiate as instantiateCore } from '../../js/core/file.ts'
import { assemble } from '../../js/queue/assemble.ts'
import type { EngineModule } from '../../js/queue/core-loader.ts'
import { chunks } from './chunks.ts'

/** The engine, with one method of its core that traps when told; its timer does from then on. */
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
        const original = Reflect.get(engine.glue.CoreQueue.prototype, method) as (...args: unknown[]) => unknown
        Object.defineProperty(Trapping.prototype, method, {
          value(this: unknown, ...args: unknown[]) {
            if (armed) throw new WebAssembly.RuntimeError('unreachable')
            return original.apply(this, args)
          },
        })
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
