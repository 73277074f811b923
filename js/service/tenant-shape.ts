/** The names that a tenant may have: what a header can carry (RFC 9110, 5.5). */

export const TENANT_SHAPE: RegExp = /^[!-~](?:[ -~]{0,253}[!-~])?$/
