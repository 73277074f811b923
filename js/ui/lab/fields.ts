/** A policy as the engine takes it. Apart from the entry, since it brings every rule of a policy along; it comes with the engine. */

import type { RetryPolicy } from '../../api/policy.ts'
import { policyFields } from '../../core/policy-row.ts'
import { resolvePolicy } from '../../options/policy-rules.ts'

export const fieldsOf = (policy: Partial<RetryPolicy>): Float64Array => policyFields(resolvePolicy(policy))
