/** Assembles the parts of a queue that come with the core, in whichever way its wasm came. */

import { RedriveError } from '../api/errors.ts'
import { signedFirst } from '../call/sign.ts'
import type { Engine } from '../core/engine.ts'
import type { Keys } from '../core/keys.ts'
import { CHECKS } from '../options/checks.ts'
import { errorText } from '../platform/error-text.ts'
import type { QueueContext } from '../runner/context.ts'
import { type StoreModule, TaskManager } from '../runner/manager.ts'
import type { NewsPorts, PrincipalNews } from '../runner/principal-news.ts'
import { Runner } from '../runner/runner.ts'
import type { PageStoreModule } from '../runner/stored.ts'
import type { EngineModule } from './core-loader.ts'

export function assemble(
  instantiate: (wasm?: unknown) => Promise<Engine>,
  loadKeys: () => Promise<Keys>,
  loadStore: () => Promise<StoreModule>,
  loadPages: () => Promise<PageStoreModule>,
  newsFor?: (runner: NewsPorts) => PrincipalNews,
): EngineModule {
  const prepare: EngineModule['prepare'] = async (wasm) => {
    try {
      const engine = await instantiate(wasm)
      return (host: QueueContext) => new TaskManager(new Runner(engine, host, newsFor), loadKeys, loadStore, loadPages)
    } catch (error) {
      const whose = wasm === undefined ? '' : 'from options.wasm: '
      const message = `no WebAssembly (${whose}${errorText(error)}): calls are plain fetch; a Content-Security-Policy needs script-src 'wasm-unsafe-eval'`
      throw new RedriveError('wasm_refused', message, { cause: error })
    }
  }
  return { prepare, signedFirst, CHECKS }
}
