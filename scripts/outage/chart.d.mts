import type { Run } from './run.d.mts'

export function chart(run: Run): string
