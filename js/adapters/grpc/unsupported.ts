import { RedriveError } from '../../api/errors.ts'
import type { RetryPolicy } from '../../api/policy.ts'

/** `POLICY_UNSUPPORTED`: gRPC's service config has no word for a field of a policy, so its calls would be retried otherwise than it says. */
export class UnsupportedPolicyError extends RedriveError {
  override readonly name = 'UnsupportedPolicyError'
  /** The field. */
  readonly field: keyof RetryPolicy

  constructor(field: keyof RetryPolicy, value: string, fix: string) {
    super('POLICY_UNSUPPORTED', `policy.${field}: gRPC's retryPolicy cannot say ${value}: ${fix}`)
    this.field = field
  }
}
