/** Header fields as RFC 9110 has them, and those that are the connection's own. */

/** A name: RFC 9110, 5.6.2. */
export const FIELD_NAME: RegExp = /^[!#$%&'*+.^_`|~\w-]+$/
/** RFC 9110, 5.5: visible, blank or beyond ASCII, and no byte but these. */
export const FIELD_VALUE: RegExp = /^[\t\x20-\x7e\x80-\xff]*$/

/** Fields that say how a message is carried, and the name of the target, which the guard has checked. */
export const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'expect'],
  ...['proxy-connection', 'proxy-authorization'],
])
