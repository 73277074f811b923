/**
 * The lab's engine: the model of `sim:storm` and the crowds of `sim:spread`, compiled to WebAssembly and loaded here alone.
 * A Worker computes. Where none can be made, the page does, in slices that leave it room for its user.
 */

import { type Connect, LabClient } from './client.ts'
import type { LabEngine } from './model.ts'
import type { FromLab } from './protocol.ts'

export type { LabEngine } from './model.ts'

/** The Worker's file in the package, from the build: bundlers look for a plain text in this very place. */
declare const LAB_WORKER: string

const inWorker: Connect = (heard, lost) => {
  const worker = new Worker(
    new URL(typeof LAB_WORKER === 'string' ? LAB_WORKER : '../../ui-worker.ts', import.meta.url),
    { type: 'module' },
  )
  worker.onmessage = ({ data }: MessageEvent<FromLab>) => heard(data)
  worker.onerror = (event) => {
    event.preventDefault() // what follows says it
    lost(new Error(event.message || 'the Worker of the lab did not load'))
  }
  return { send: (message) => worker.postMessage(message), close: () => worker.terminate() }
}

const onPage: Connect = (heard, lost) => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = ({ data }: MessageEvent<FromLab>) => heard(data)
  import('./serve.ts').then(({ serve }) => serve(port2)).catch(lost)
  return { send: (message) => port1.postMessage(message), close: () => port1.close() }
}

/** Starts the Worker at once, so that it has loaded when the first question comes. `close()` ends it. */
export const openLabEngine = (): LabEngine => new LabClient([inWorker, onPage])
