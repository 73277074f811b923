export interface OutageOptions {
  readonly clients: number
  readonly slots: number
  readonly serviceMs: number
  /** Share of what the server can do. */
  readonly load: number
  readonly beforeS: number
  readonly downS: number
  /** How long the load goes on once the backlog is gone. */
  readonly afterS: number
  /** The longest wait for that. */
  readonly limitS: number
}

type Numbers<Names extends string> = Readonly<Record<Names, number>>

export interface Run {
  readonly options: OutageOptions
  readonly samples: readonly Numbers<'at' | 'seen' | 'succeeded' | 'depth' | 'attempts'>[]
  readonly circuits: readonly { readonly at: number; readonly client: number; readonly to: string }[]
  readonly downAt: number
  readonly upAt: number
  readonly drainedAt: number | null
  readonly summary: Numbers<
    'calls' | 'attempts' | 'amplification' | 'effects' | 'repeated' | 'lost' | 'deadLetters' | 'deepest'
  >
}

export function outage(options: OutageOptions): Promise<Run>
