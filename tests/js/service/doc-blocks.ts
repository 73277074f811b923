/** The blocks of code of a page of the documentation, each to be run by a test as it stands. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

export const root: string = join(import.meta.dirname, '..', '..', '..')

export interface Block {
  readonly language: string
  readonly code: string
}

export function pageOf(name: string) {
  const page = readFileSync(join(root, 'docs', name), 'utf8')
  const blocks: readonly Block[] = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', code = '']) => ({ language, code }),
  )
  const ran = new Set<Block>()
  return {
    page,
    blocks,
    ran,
    /** The one block of a language that has all these words. */
    block(language: string, ...words: readonly string[]): string {
      const found = blocks.filter(
        ({ language: own, code }) => own === language && words.every((word) => code.includes(word)),
      )
      expect(found, `blocks of ${language} with ${words.join(', ')}`).toHaveLength(1)
      for (const each of found) ran.add(each)
      return found[0]?.code ?? ''
    },
    /** Those that no test has run. */
    rest: (): readonly string[] => blocks.filter((each) => !ran.has(each)).map(({ code }) => code),
  }
}
