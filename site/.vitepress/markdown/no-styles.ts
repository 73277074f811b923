// No `style` attribute in any page: under `default-src 'self'` a browser drops them. Columns are aligned and code is coloured by classes.

import type { ShikiTransformer, ThemeRegistration } from 'shiki'
import type { MarkdownRenderer } from 'vitepress'

/** The kinds of word that code is coloured by, each with a colour that stands for it until `classes` has seen it, and its scopes of TextMate. */
const kinds: Readonly<Record<string, { readonly mark: string; readonly scopes: readonly string[] }>> = {
  comment: {
    mark: '#000001',
    scopes: ['comment', 'punctuation.definition.comment'],
  },
  string: {
    mark: '#000002',
    scopes: ['string', 'punctuation.definition.string', 'markup.inline.raw'],
  },
  keyword: {
    mark: '#000003',
    scopes: ['keyword', 'keyword.operator.new', 'keyword.operator.expression', 'storage', 'variable.language'],
  },
  constant: { mark: '#000004', scopes: ['constant', 'support.constant'] },
  call: {
    mark: '#000005',
    scopes: ['entity.name.function', 'support.function', 'entity.name.command'],
  },
  type: {
    mark: '#000006',
    scopes: ['entity.name.type', 'support.class', 'support.type', 'entity.other.attribute-name'],
  },
  plain: {
    mark: '#000007',
    scopes: ['keyword.operator', 'punctuation', 'meta.brace', 'source'],
  },
}
const PLAIN = '#000007'

/** A theme whose colours are names: `theme/code.css` has the colours, for light and dark. */
export const theme: ThemeRegistration = {
  name: 'redrive',
  type: 'light',
  fg: PLAIN,
  bg: '#ffffff',
  settings: [
    { settings: { foreground: PLAIN, background: '#ffffff' } },
    ...Object.values(kinds).map(({ mark, scopes }) => ({
      scope: [...scopes],
      settings: { foreground: mark },
    })),
  ],
}

const kindOf = new Map(Object.entries(kinds).map(([name, { mark }]) => [mark, name]))

/** Puts a class in the place of each colour. */
export const classes: ShikiTransformer = {
  name: 'classes',
  pre(node) {
    delete node.properties.style
  },
  span(node) {
    const { style } = node.properties
    if (typeof style !== 'string') return
    delete node.properties.style
    const mark = /color:\s*(#[0-9a-f]{6})/i.exec(style)?.[1]?.toLowerCase() ?? ''
    const kind = kindOf.get(mark)
    if (kind === undefined) throw new Error(`code is coloured ${style}, which no kind of word is`)
    if (kind !== 'plain') this.addClassToHast(node, `code-${kind}`)
  },
}

/** `text-align` of a column, as a class. */
export function alignByClass(md: MarkdownRenderer): void {
  md.core.ruler.push('align-by-class', ({ tokens }) => {
    for (const token of tokens) {
      const style = token.attrGet('style')
      if (style === null) continue
      const align = /^text-align:(\w+)$/.exec(style)?.[1]
      if (align === undefined) throw new Error(`a style that no class stands for: ${style}`)
      token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style')
      token.attrJoin('class', `align-${align}`)
    }
  })
}
