// The globals of another realm, as jsdom plays them: it brings no types.
import { createRequire } from 'node:module'

const { JSDOM } = createRequire(import.meta.url)('jsdom') as { readonly JSDOM: new () => { window: typeof globalThis } }

export const { window } = new JSDOM()
