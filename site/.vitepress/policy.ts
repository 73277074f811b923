// What the built site is allowed to do, said in each page: not every host of files lets one set headers. A server that can may send it as one.

export const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"

/** Before anything that it is about. */
export const withPolicy = (html: string): string =>
  html.replace('<meta charset="utf-8">', `$&\n    <meta http-equiv="Content-Security-Policy" content="${policy}">`)
