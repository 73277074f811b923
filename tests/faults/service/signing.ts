/** The keys that sign callbacks, as a service is given them, and a check of what was signed by the library of who receives it. */

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'

/** 'plain': one key, from a variable. 'rotated': two, from files, of which receivers still have the old one. */
export const SIGNINGS = ['plain', 'rotated'] as const
export type Signing = (typeof SIGNINGS)[number]

const KEY_BYTES = 32
const VARIABLE = 'FAULTS_SIGNING_KEY'
const FILES = { next: 'signing-next.key', last: 'signing-last.key' } as const

export interface SigningKeys {
  /** `--signing`. */
  readonly file: string
  /** Variables that each process needs. */
  readonly env: Readonly<Record<string, string>>
  /** The fault of a callback that was to be signed by this name; undefined: it verifies, as a receiver would see to it. */
  faultOf(signing: Signing, text: string, headers: Readonly<Record<string, string>>): string | undefined
}

/** Draws keys and writes down where each is. */
export function signingKeysIn(folder: string): SigningKeys {
  const draw = () => `whsec_${randomBytes(KEY_BYTES).toString('base64')}`
  const [plain, next, last] = [draw(), draw(), draw()]
  writeFileSync(join(folder, FILES.next), `${next}\n`)
  writeFileSync(join(folder, FILES.last), `${last}\n`)
  const file = join(folder, 'signing.json')
  const from = (name: string) => ({ from: `file:${join(folder, name)}` })
  const settings = {
    plain: { keys: [{ from: `env:${VARIABLE}` }], tenants: '*' },
    rotated: { keys: [from(FILES.next), from(FILES.last)], tenants: '*' },
  }
  writeFileSync(file, JSON.stringify(settings))
  const held = { plain: new Webhook(plain), rotated: new Webhook(last) }
  return {
    file,
    env: { [VARIABLE]: plain },
    faultOf(signing, text, headers) {
      try {
        held[signing].verify(text, headers)
        return undefined
      } catch (error) {
        return (error as Error).message
      }
    },
  }
}
