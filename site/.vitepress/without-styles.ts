// The one `style` attribute that VitePress itself writes into pages, a height that is 0 until a menu opens. Any other ends the build: a
// browser would drop it under the policy that the site is served with.
const known = / style="--vp-vh:0px;"/g
const style = /<[^>]*\sstyle="[^"]*"/

export function withoutStyles(html: string, page: string): string {
  const left = html.replace(known, '')
  const found = style.exec(left)?.[0]
  if (found !== undefined) throw new Error(`${page}: a style that the Content-Security-Policy forbids: ${found}`)
  return left
}
