/** The conditions of axios-retry, which its users name and put together: they say the same of every error. */

import type { AxiosError } from 'axios'

/** Errors that no repeat mends: no such host, no such network, memory, and certificates that OpenSSL does not accept. */
const LASTING: ReadonlySet<string> = new Set([
  ...['ENOTFOUND', 'ENETUNREACH', 'OUT_OF_MEM'],
  ...['CERT_CHAIN_TOO_LONG', 'CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'CERT_REJECTED', 'CERT_REVOKED'],
  ...['CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED', 'ERROR_IN_CERT_NOT_AFTER_FIELD', 'ERROR_IN_CERT_NOT_BEFORE_FIELD'],
  ...['CRL_HAS_EXPIRED', 'CRL_NOT_YET_VALID', 'CRL_SIGNATURE_FAILURE'],
  ...['ERROR_IN_CRL_LAST_UPDATE_FIELD', 'ERROR_IN_CRL_NEXT_UPDATE_FIELD'],
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_CRL', 'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'UNABLE_TO_DECRYPT_CERT_SIGNATURE', 'UNABLE_TO_DECRYPT_CRL_SIGNATURE'],
  ...['HOSTNAME_MISMATCH', 'INVALID_CA', 'INVALID_PURPOSE', 'PATH_LENGTH_EXCEEDED'],
])

/** A time limit, by the code that axios gives it unless `transitional.clarifyTimeoutError` is set. */
const TIMED_OUT = 'ECONNABORTED'

const SAFE: readonly string[] = ['get', 'head', 'options']
const IDEMPOTENT: readonly string[] = [...SAFE, 'put', 'delete']

/** Whether there was no answer, and neither a time limit, an abort nor a lasting fault is why. */
export function isNetworkError(error: Partial<AxiosError>): boolean {
  const { response, code } = error
  return !response && !!code && code !== 'ERR_CANCELED' && code !== TIMED_OUT && !LASTING.has(code)
}

/** Whether there was no answer in spite of the time, or one with 429 or 5xx. */
export function isRetryableError({ response, code }: AxiosError): boolean {
  if (code === TIMED_OUT) return false
  return !response || response.status === 429 || (response.status >= 500 && response.status <= 599)
}

/** `isRetryableError`, of a GET, HEAD or OPTIONS. */
export function isSafeRequestError(error: AxiosError): boolean {
  return isOneOf(SAFE, error) && isRetryableError(error)
}

/** `isRetryableError`, of a GET, HEAD, OPTIONS, PUT or DELETE. */
export function isIdempotentRequestError(error: AxiosError): boolean {
  return isOneOf(IDEMPOTENT, error) && isRetryableError(error)
}

export function isNetworkOrIdempotentRequestError(error: AxiosError): boolean {
  return isNetworkError(error) || isIdempotentRequestError(error)
}

const isOneOf = (methods: readonly string[], { config }: AxiosError): boolean => methods.includes(config?.method ?? '')
