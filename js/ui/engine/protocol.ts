/**
 * The messages between a page and what runs the lab for it, a Worker or the page itself. Both ends are of one version: they
 * come from one package and live as long as one page, so nothing here is checked twice.
 */

import type {
  CrowdAnswer,
  CrowdRequest,
  FrontierAnswer,
  FrontierRequest,
  FrontierRow,
  OutageAnswer,
  OutageRequest,
} from './model.ts'

/** Kind of a request -> what it asks, what comes of it, and what is reported before it is over. */
interface Exchanges {
  readonly crowd: { readonly asks: CrowdRequest; readonly answer: CrowdAnswer; readonly partial: never }
  readonly frontier: {
    readonly asks: FrontierRequest
    readonly answer: FrontierAnswer
    readonly partial: readonly FrontierRow[]
  }
  readonly outage: { readonly asks: OutageRequest; readonly answer: OutageAnswer; readonly partial: OutageAnswer }
}

export type Kind = keyof Exchanges
export type RequestOf<K extends Kind> = Exchanges[K]['asks']
export type AnswerOf<K extends Kind> = Exchanges[K]['answer']
export type PartialOf<K extends Kind> = Exchanges[K]['partial']

/** A request with its kind. */
export type Asked = { readonly [K in Kind]: { readonly kind: K; readonly request: RequestOf<K> } }[Kind]

export type ToLab =
  | (Asked & { readonly type: 'run'; readonly id: number })
  | { readonly type: 'cancel'; readonly id: number }

export type FromLab =
  /** The first message: it runs. One that fails before it was no Worker at all. */
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly id: number; readonly share: number; readonly partial?: PartialOf<Kind> }
  | { readonly type: 'answer'; readonly id: number; readonly answer: AnswerOf<Kind> }
  /** A later request of its kind took its place. */
  | { readonly type: 'superseded'; readonly id: number }
  | ({ readonly type: 'failed'; readonly id: number } & Fault)

/** An error that crosses: a field that the module does not take, or why the module does not run, or no longer. */
export interface Fault {
  readonly fault: 'range' | 'unavailable' | 'stopped'
  readonly message: string
}

/** One end of a channel: a `MessagePort`, a `Worker`, or the global of one. */
export interface LabPort<Sends, Hears> {
  postMessage(message: Sends, transfer: Transferable[]): void
  onmessage: ((event: MessageEvent<Hears>) => void) | null
}
