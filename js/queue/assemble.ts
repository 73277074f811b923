/** Assembles the parts of a queue that come with the core, in whichever way its wasm came. */

import { RedriveError } from '../api/errors.ts'
import { signedFirst } from '../call/sign.ts'
import type { Engine } from '../core/engine.ts'
import { CHECKS } from '../options/checks.ts'
import { errorText } from '../platform/error-text.ts'
import type { QueueContext } from '../runner/context.ts'
import { TaskManager } from '../runner/manager.ts'
import type { Parts } from '../runner/parts.ts'
import { Runner } from '../runner/runner.ts'
import type { EngineModule } from './core-loader.ts'

export function assemble(instantiate: (wasm?: unknown) => Promise<Engine>, parts: Parts): EngineModule {
  const prepare: EngineModule['prepare'] = async (wasm) => {
    try {
      const engine = await instantiate(wasm)
      return (host: QueueContext) => new TaskManager(new Runner(engine, host, parts.newsFor), parts)
    } catch (error) {
      const whose = wasm === undefined ? '' : 'from options.wasm: '
      const message = `no WebAssembly (${whose}${errorText(error)}): calls are plain fetch; a Content-Security-Policy needs script-src 'wasm-unsafe-eval'`
      throw new RedriveError('wasm_refused', message, { cause: error })
    }
  }
  return { prepare, signedFirst, CHECKS }
}
