import type { FlakyReport, Visit } from './start.mjs'

export class Ledger {
  arrive(now: number): Visit
  identify(visit: Visit, whose: Pick<Visit, 'intent' | 'via' | 'by' | 'method' | 'key'>): void
  end(visit: Visit, now: number, outcome: string): void
  report(injectedKinds: readonly string[]): FlakyReport
}
