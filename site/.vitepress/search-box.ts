// VitePress's search box calls itself a button that has everything inside, and its results are links within options: a screen reader gets
// through to none of it. Here it is a dialog with a combobox, and a link is the option. Words that are not found end the build.
const changes: readonly (readonly [string, string])[] = [
  [
    `      role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"
      aria-labelledby="localsearch-label"`,
    `      role="dialog"
      aria-modal="true"
      aria-labelledby="localsearch-label"`,
  ],
  [
    'aria-autocomplete="both"',
    'aria-autocomplete="list" role="combobox" :aria-expanded="results?.length ? \'true\' : \'false\'"',
  ],
  [
    `            :id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"`,
    '            role="presentation"',
  ],
  [
    `              :aria-label="[...p.titles, p.title].join(' > ')"`,
    `              :id="'localsearch-item-' + index"
              :aria-selected="selectedIndex === index ? 'true' : 'false'"
              role="option"`,
  ],
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
  ['<span class="title-icon">#</span>', '<span class="title-icon" aria-hidden="true">#</span>'],
]

interface SourcePlugin {
  readonly name: string
  readonly enforce: 'pre'
  transform(code: string, id: string): string | null
}

export const searchBox: SourcePlugin = {
  name: 'search-box',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return null
    return changes.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`VitePress's search box has changed, and has no more:\n${from}`)
      return text.replaceAll(from, to)
    }, code)
  },
}
