/** What the contract does not say, and only this storage can show. */
import { agenda } from './agenda.ts'
import { cost } from './cost.ts'
import { kept } from './kept.ts'
import type { Rules } from './kit.ts'
import { limits } from './limits.ts'

export const rules: Rules = { ...kept, ...limits, ...agenda, ...cost }
