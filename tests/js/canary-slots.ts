/** Where a request can carry a secret. */

import type { Shape } from './canaries.ts'

/** Headers that are never stored, whatever is in them; of each kind in docs/headers.md some. */
export const DENIED: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'x-auth-token',
  'x-amz-security-token',
  'x-csrf-token',
  'signature',
  'x-goog-api-key',
  'x-goog-iap-jwt-assertion',
  'x-serverless-authorization',
  'x-ms-token-aad-id-token',
  'x-zumo-auth',
  'cf-authorization',
  'x-auth-key',
  'private-token',
  'job-token',
  'x-hub-signature-256',
  'x-vault-token',
  'x-shopify-access-token',
  'stripe-signature',
  'dd-api-key',
  'x-rapidapi-key',
  'x-session-id',
  'x-otp',
  'dpop',
  'x-wsse',
  'x-amz-server-side-encryption-customer-key',
  'x-ms-client-principal',
  'ocp-apim-subscription-key',
  'x-functions-key',
  'x-firebase-appcheck',
  'cf-access-client-secret',
  'dd-application-key',
  'x-honeycomb-team',
  'x-license-key',
  'fastly-key',
  'jenkins-crumb',
  'x-gotify-key',
  'x-jfrog-art-api',
  'cb-access-sign',
  'x-client-cert',
  'x-user-password',
  'set-cookie',
]

/** Headers that are stored unless what is in them looks like a secret, which it does in these shapes. */
export const LOOKED_INTO: readonly (readonly [name: string, shape: Shape])[] = [
  ['x-request-id', 'jwt'],
  ['prefer', 'bearer'],
  ['tracestate', 'basic'],
]
