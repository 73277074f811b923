/**
 * A locale in which texts compare as in a language, and not by their bytes: 'a' before 'B'. Redis takes that of its environment, and Lua's
 * `<` goes by it, so what the scripts say must not depend on it.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

const NAME = 'en_US.UTF-8'

/** The environment of a server with it, made for this process; undefined: there is no `localedef` here, or no source of a language. */
export function languageLocale(): Readonly<Record<string, string>> | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-locale-'))
  const end = () => rmSync(folder, { recursive: true, force: true })
  const { status } = spawnSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', join(folder, NAME)], { stdio: 'ignore' })
  if (status === 0) {
    process.once('exit', end)
    return { LOCPATH: folder, LC_ALL: NAME }
  }
  end()
  return undefined
}
