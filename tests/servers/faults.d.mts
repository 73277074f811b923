import type { FaultKind, FaultOptions } from './start.mjs'

export type FaultConfig = Required<FaultOptions>

export function only(kind: FaultKind): Record<FaultKind, number>

export function faultConfig(given?: FaultOptions): FaultConfig

export function decide(
  config: FaultConfig,
  intent: string,
  attempt: number,
  faultsBefore: number,
): { readonly kind: FaultKind | null; readonly slow: boolean; readonly latencyMs: number }
