/**
 * Every field of the service that takes text. What is found where is documented in docs/service-security.md, whose lists are made of this one; a
 * place that is not named here may not have it, and one that is named has it.
 */

import { randomBytes } from 'node:crypto'
import { type Field, NAMES, ofEach, TOKENS } from './field.ts'
import { keptFields } from './kept-fields.ts'
import { refusedFields } from './refused-fields.ts'
import { requestFields } from './request-fields.ts'
import { ANSWERS } from './servers.ts'
import { CREDENTIALS, FAILING, GIVEN, SETTINGS, SIGNINGS, UNUSABLE } from './settings.ts'
import { STORE_PASSWORD } from './stores.ts'
import type { Kinds, World } from './world.ts'

/** What the settings refuse is said where people and machines read it. */
const WRONG_SETTINGS = 'settings: a secret in the place of where it is read, or in a file that cannot be read'
/** So much of a text is in messages of parsers. */
const QUOTED = 9
const wrongSettings: Field = {
  name: WRONG_SETTINGS,
  async put(world) {
    for (let n = 0; n < 2; n++) {
      const secret = randomBytes(24).toString('hex')
      world.canaries.keep(WRONG_SETTINGS, secret, [secret.slice(0, QUOTED), secret.slice(-QUOTED)])
      const keys = [{ hooks: { keys: [{ from: secret }] } }, { hooks: { keys: [secret] } }, { hooks: { keys: secret } }]
      const wrong = [...keys, { hooks: { keys: [{ from: 'env:A', secret }] } }, secret, [secret]]
      for (const content of wrong) await world.refusedReload('signing.json', JSON.stringify(content))
      for (const content of [`x${secret}`, `{"hooks":"${secret}"`, `{"hooks":x${secret}}`, `{"hooks":"${secret}"x}`]) {
        await world.refusedReload('signing.json', content)
      }
      await world.refusedReload('tokens.json', JSON.stringify([{ sha256: secret, scopes: ['admin'] }]))
      await world.refusedReload('tokens.json', `[{"token":"${secret}"}]`)
      await world.refusedReload('tokens.json', `["${secret}`)
    }
  },
}

/** Tasks that name what the settings have, to targets of every kind. */
export async function useSettings(world: World): Promise<void> {
  const { target, other, hooks } = world.servers
  for (const [i, credential] of CREDENTIALS.entries()) {
    for (const kind of ['ok', 'flaky', 'refused', 'hop', 'away', 'reset']) {
      const signing = SIGNINGS[i % SIGNINGS.length]
      const callback = { url: `${hooks}/named-${credential}-${kind}`, signing }
      await world.hand({ targetUrl: `${target}/${kind}/${credential}`, credential, signing, callback })
    }
    await world.refused('credential-refused', { targetUrl: `${other}/ok`, credential })
  }
  for (const credential of [GIVEN, FAILING, UNUSABLE]) {
    await world.hand({ targetUrl: `${target}/ok/${credential}`, credential })
  }
  await world.hand({ targetUrl: `${target}/ok/unusable`, signing: UNUSABLE })
  for (let n = 0; n < 3; n++) await world.hand({ targetUrl: `${world.servers.broken}/${n}` })
}

const FIELDS: readonly Field[] = [
  ...refusedFields,
  ...requestFields,
  ...keptFields,
  ...ANSWERS.map((name) => ({ name })),
  ...SETTINGS.map((name) => ({ name })),
  wrongSettings,
]

export function fieldsOf({ store, bodies }: Kinds): readonly Field[] {
  const isBucket = bodies === 'bucket'
  return [
    ...FIELDS,
    uploadedType(isBucket),
    ...(isBucket ? [{ name: 'a secret of a bucket' }] : []),
    ...(store === 'redis' ? [storePassword] : []),
  ]
}

const storePassword: Field = {
  name: STORE_PASSWORD,
  async put(world, make) {
    for (const shape of TOKENS) await world.askDoctor((url) => url.replace(/:[^:]*@/, `:${make(shape)}@`))
    await world.refusedByStore()
  },
}

/** A bucket keeps types, a folder does not. */
const uploadedType = (isBucket: boolean): Field => ({
  name: 'the Content-Type of an uploaded body',
  ...(isBucket && { kept: ['the store of bodies'] }),
  put: ofEach(NAMES, (world, make) => world.upload('x', `text/${make()}`)),
})
