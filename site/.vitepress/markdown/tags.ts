// What looks like a tag in a sentence, `<path>`, is text: Vue would take it for an element that is never closed. Pages with components
// have them as blocks of their own.
import type { MarkdownRenderer } from 'vitepress'

const isMarkup = (tag: string): boolean => /^<(br\b|!--)/.test(tag)

export function tagsAsText(md: MarkdownRenderer): void {
  md.core.ruler.push('tags-as-text', ({ tokens }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        if (token.type === 'html_inline' && !isMarkup(token.content)) token.type = 'text'
      }
    }
  })
}
