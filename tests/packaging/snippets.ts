// The snippets that users copy: those of the README and of docs/recipes.md.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { root } from './pack.ts'

const text = ['README.md', 'docs/recipes.md'].map((name) => readFileSync(join(root, name), 'utf8')).join('\n')

export const blocksOf = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code]) => code ?? '')

export const snippets: readonly string[] = blocksOf(text, 'js')

/** The snippet that holds `word`, of which there is exactly one, for a server at `address`. */
export function snippet(word: string, address = ''): string {
  const code = oneWith(snippets, word)
  return address === '' ? code : toServer(code, address)
}

/** The text of a page of docs/. */
export const docs = (name: string): string => readFileSync(join(root, 'docs', name), 'utf8')

export function oneWith(all: readonly string[], word: string): string {
  const found = all.filter((code) => code.includes(word))
  expect(found, `snippets with ${word}`).toHaveLength(1)
  return found[0] ?? ''
}

/** Snippets that tests take one by one, and those that none has taken. */
export function eachOnce(all: readonly string[]): {
  take(word: string, among?: readonly string[]): string
  left(): string[]
} {
  const ran = new Set<string>()
  return {
    take(word, among = all) {
      const code = oneWith(among, word)
      ran.add(code)
      return code
    },
    left: () => all.filter((code) => !ran.has(code)),
  }
}

/** The snippet with `address` in place of the example's. */
export function toServer(code: string, address: string): string {
  const { origin } = new URL(address)
  // in a list of origins, and as a key of credentials, the path has no place
  return code
    .replaceAll(/'https:\/\/api\.example\.com'(?=[:\]])/g, `'${origin}'`)
    .replaceAll('https://api.example.com', address)
}
