/** Tells an error of the network by its code, where a library's own class says nothing: axios' errors, and those of a server's handler. */

/**
 * Codes where the network or the server is at fault, or this machine for a moment: of the system, TLS, HTTP/2, Node's parser and
 * streams, undici. Certificates are not among them: no repeat mends one.
 */
export const PASSING_CODE: RegExp =
  /^(ERR_NETWORK|E(CONN|PIPE|AI_|HOST|NET)\w*|ENOTFOUND|E(SOCKET)?TIMEDOUT|EPROTO|E(ADDRNOTAVAIL|MFILE|NFILE|NOBUFS)|ERR_HTTP2_\w+|ERR_STREAM_PREMATURE_CLOSE|ERR_SOCKET_CONNECTION_TIMEOUT|HPE_\w+|UND_ERR_\w+)$/
