/**
 * Runs in a page before any of its scripts and watches what a library could do behind its back: timers it leaves
 * running, WebAssembly it compiles. `holdIdle` keeps idle callbacks back until `probe.releaseIdle()`, so that a test
 * can decide what happens between a page's load and its first idle moment.
 */
export interface Probe {
  /** Timers and idle callbacks that are set now. */
  readonly alive: () => readonly string[]
  /** Calls into WebAssembly that compile or instantiate. */
  readonly wasm: readonly string[]
  readonly releaseIdle: () => void
}

export function installProbe({ holdIdle }: { readonly holdIdle: boolean }): void {
  const alive = new Map<string, string>()
  const wasm: string[] = []
  const held: (() => void)[] = []
  let holding = holdIdle

  const watch = (set: string, clear: string, repeats: boolean): void => {
    const page = globalThis as unknown as Record<string, (...args: unknown[]) => unknown>
    const [setNow, clearNow] = [page[set], page[clear]]
    if (!setNow || !clearNow) return
    page[set] = (callback, ...rest) => {
      if (set === 'requestIdleCallback' && holding) return held.push(() => page[set]?.(callback, ...rest))
      const fire = (...args: unknown[]): unknown => {
        if (!repeats) alive.delete(`${set} ${id}`)
        return (callback as (...args: unknown[]) => unknown)(...args)
      }
      const id = setNow.call(globalThis, fire, ...rest)
      alive.set(`${set} ${id}`, `${set}(${rest.filter((value) => typeof value === 'number').join()})`)
      return id
    }
    page[clear] = (id) => {
      alive.delete(`${set} ${id}`)
      return clearNow.call(globalThis, id)
    }
  }
  watch('setTimeout', 'clearTimeout', false)
  watch('setInterval', 'clearInterval', true)
  watch('requestIdleCallback', 'cancelIdleCallback', false)

  const engine = WebAssembly as unknown as Record<string, (...args: unknown[]) => unknown>
  for (const name of ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']) {
    const original = engine[name]
    engine[name] = (...args) => {
      wasm.push(name)
      return original?.apply(WebAssembly, args)
    }
  }
  for (const name of ['Module', 'Instance']) {
    engine[name] = new Proxy(engine[name] as unknown as new () => object, {
      construct(target, args) {
        wasm.push(name)
        return Reflect.construct(target, args)
      },
    }) as unknown as () => unknown
  }

  const probe: Probe = {
    alive: () => [...alive.values()],
    wasm,
    releaseIdle() {
      holding = false
      for (const release of held.splice(0)) release()
    },
  }
  Object.assign(globalThis, { probe })
}
