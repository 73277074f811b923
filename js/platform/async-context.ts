/** Runs work in an asynchronous context: with what each `AsyncLocalStorage` held when that was kept, such as the user of a request. */
export type Within = <T>(work: () => T) => T

interface NodeLike {
  readonly process?: {
    getBuiltinModule?(name: 'node:async_hooks'): { readonly AsyncLocalStorage?: { snapshot?(): Within } } | undefined
  }
}

const storage = (globalThis as NodeLike).process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage

/** Keeps the context of its caller. undefined where there are none, as in a page. */
export const keepContext = (): Within | undefined => storage?.snapshot?.()

/** The context in which this module was loaded: that of no request. */
export const OUTSIDE: Within | undefined = keepContext()
