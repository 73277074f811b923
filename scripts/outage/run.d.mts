export interface Run {
  readonly samples: readonly {
    readonly at: number
    readonly seen: number
    readonly succeeded: number
    readonly depth: number
    readonly attempts: number
  }[]
  readonly circuits: readonly { readonly at: number; readonly client: number; readonly to: string }[]
  readonly downAt: number
  readonly upAt: number
  readonly drainedAt: number | null
  readonly summary: {
    readonly calls: number
    readonly attempts: number
    readonly amplification: number
    readonly effects: number
    readonly repeated: number
    readonly lost: number
    readonly deadLetters: number
    readonly deepest: number
  }
}

export interface OutageOptions {
  readonly clients: number
  readonly slots: number
  readonly serviceMs: number
  readonly load: number
  readonly beforeS: number
  readonly downS: number
  readonly afterS: number
  readonly limitS: number
}

export function outage(options: OutageOptions): Promise<Run>
