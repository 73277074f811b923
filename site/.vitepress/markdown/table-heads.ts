// A table of Markdown has a head, even where nothing is to be said in it. One that is empty is left out, and an empty cell of one is
// no heading of a column, which a screen reader would announce.
import type { MarkdownRenderer } from 'vitepress'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

/** The tokens of each head, from `thead_open` to `thead_close`. */
function heads(tokens: readonly Token[]): (readonly [number, number])[] {
  return tokens.flatMap(({ type }, from) => {
    const to = type === 'thead_open' ? tokens.findIndex((each, at) => at > from && each.type === 'thead_close') : -1
    return to < 0 ? [] : [[from, to] as const]
  })
}

export function tableHeads(md: MarkdownRenderer): void {
  md.core.ruler.push('table-heads', (state) => {
    const empty = new Set<Token>()
    for (const [from, to] of heads(state.tokens)) {
      const head = state.tokens.slice(from, to + 1)
      const isEmpty = head.every(({ type, content }) => type !== 'inline' || content.trim() === '')
      if (isEmpty) for (const token of head) empty.add(token)
      head.forEach((token, at) => {
        if (token.type !== 'inline' || token.content.trim() !== '') return
        for (const cell of [head[at - 1], head[at + 1]]) if (cell !== undefined) cell.tag = 'td'
      })
    }
    state.tokens = state.tokens.filter((token) => !empty.has(token))
  })
}
