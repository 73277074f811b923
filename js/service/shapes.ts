/** The names that tenants and policies may have. */

/** A name that a header can carry (RFC 9110, 5.5). */
export const TENANT_SHAPE: RegExp = /^[!-~](?:[ -~]{0,253}[!-~])?$/
export const TENANT_WORDS = '1 to 255 visible ASCII characters'

/** A name that a URL's path carries as it is; `.` and `..` are no part of one. */
export const POLICY_ID: RegExp = /^\w[\w.~-]{0,63}$/
export const POLICY_ID_WORDS = '1 to 64 letters, digits or any of _ . ~ -, the first none of . ~ -'
