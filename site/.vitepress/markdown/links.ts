// Links as the documents have them, relative to the repository, made links of the site. A file that is no page of it is shown where the
// repository is; GitHub itself follows the relative link.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

export interface Places {
  /** The folder of the repository on this machine. */
  readonly root: string
  /** The folder of the pages. */
  readonly pages: string
  /** Where the repository is shown. */
  readonly address: string
}

/** The address of a file or a folder in the repository. */
export function inRepository({ root, address }: Places, file: string): string {
  const kind = existsSync(file) && statSync(file).isDirectory() ? 'tree' : 'blob'
  return `${address}/${kind}/main/${relative(root, file).replaceAll('\\', '/')}`
}

/** What a link of the page at `path` leads to on the site. */
export function siteLink(places: Places, path: string, href: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [target = '', anchor] = href.split('#')
  const file = join(dirname(path), decodeURIComponent(target))
  const hash = anchor === undefined ? '' : `#${anchor}`
  const isPage = !relative(places.pages, file).startsWith('..') && file.endsWith('.md')
  if (isPage) return `${target.replace(/(^|\/)README\.md$/, '$1index.md')}${hash}`
  return inRepository(places, file) + hash
}

export function repositoryLinks(md: MarkdownRenderer, places: Places): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const path = String((env as { realPath?: string; path: string }).realPath ?? (env as { path: string }).path)
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href !== null) token.attrSet('href', siteLink(places, path, href))
      }
    }
  })
}
