// What the search of the site finds. Each heading is a result of its own, and the API reference has thousands that say `Returns`: there a
// page and its members are found, and not their parts.
import type { MarkdownEnv } from 'vitepress'

const partsOfMembers = /<h[4-6][^>]*>.*?<\/h[4-6]>/gs
const kindsOfMembers =
  /<h[23][^>]*>(?:Constructors?|Extends|Extended by|Methods|Parameters|Properties|Returns|Type Parameters|Default|Accessors)\b.*?<\/h[23]>/gs
const namesOfOtherPages = /<h2[^>]*>References\b.*/s

interface Renderer {
  render(source: string, env: MarkdownEnv): string
}

export function renderForSearch(source: string, env: MarkdownEnv, md: Renderer): string {
  const html = md.render(source, env)
  if (!env.relativePath.startsWith('api/')) return html
  return html.replace(namesOfOtherPages, '').replace(partsOfMembers, '').replace(kindsOfMembers, '')
}
