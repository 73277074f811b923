// A picture that is wide scrolls on a narrow screen, as a table does: made smaller, its words could not be read. What scrolls has to have the focus.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

/** Units of the picture, of which a word is some 13 high. */
const WIDE = 640

export function widePictures(md: MarkdownRenderer): void {
  md.core.ruler.push('wide-pictures', ({ tokens, env }) => {
    for (const [i, { type, children }] of tokens.entries()) {
      const src = type === 'inline' && children?.length === 1 ? children[0]?.attrGet('src') : undefined
      if (!src?.endsWith('.svg')) continue
      const [, width] = /viewBox="0 0 (\d+)/.exec(readFileSync(resolve(dirname(env.path), src), 'utf8')) ?? []
      if (Number(width) <= WIDE) continue
      tokens[i - 1]?.attrJoin('class', 'wide')
      tokens[i - 1]?.attrSet('tabindex', '0')
    }
  })
}
