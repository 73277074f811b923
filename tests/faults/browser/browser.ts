/** What a run asks of a browser: tabs on one profile, and an end that nobody is told of. */

/** One tab. What a browser's driver cannot do is absent. */
export interface Tab {
  /** The value of an expression in its page, awaited, as JSON has it. */
  run<T>(expression: string): Promise<T>
  /** Resolves once the page has begun to come: what it has to say tells when it is here. */
  load(url: string): Promise<void>
  /** As the user's button does. */
  back(): Promise<void>
  /** In front of the others of its window. */
  show(): Promise<void>
  close(): Promise<void>
  crash?(): Promise<void>
  freeze?(): Promise<void>
  thaw?(): Promise<void>
}

export interface Ear {
  said(line: string): void
  /** The tab's process is gone, though nobody has asked for it, or because of `crash`. */
  crashed(): void
}

export interface Browser {
  /** A tab that shows nothing yet; `alone`: in a window of its own. `script` runs in each of its pages before all others. */
  open(ear: Ear, options: { readonly script: string; readonly alone: boolean }): Promise<Tab>
  /** Without a network, all tabs at once, also those to come. */
  offline?(on: boolean): Promise<void>
  kill(): void
  /** As a user does. */
  close(): Promise<void>
  /** Resolves when all is over that it could have said. */
  readonly gone: Promise<void>
}

export type BrowserName = 'chromium' | 'firefox'
/** `signal`: not wanted any more, even before it is here. */
export type Start = (profile: string, signal: AbortSignal) => Promise<Browser>
