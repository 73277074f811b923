// The site is docs/, and nothing that is written twice: this says how its pages are found, linked and built. docs/api/ is printed from
// docstrings before (`site/api.mjs`).
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { anchorOf } from '../../scripts/check/anchors.mjs'
import { imageFiles } from './inline-images.ts'
import { scriptFiles } from './inline-scripts.ts'
import { type Places, repositoryLinks } from './markdown/links.ts'
import { alignByClass, classes, theme } from './markdown/no-styles.ts'
import { tableHeads } from './markdown/table-heads.ts'
import { tagsAsText } from './markdown/tags.ts'
import { widePictures } from './markdown/wide-pictures.ts'
import { nav, sidebar } from './pages.ts'
import { withPolicy } from './policy.ts'
import { renderForSearch } from './search.ts'
import { searchBox } from './search-box.ts'
import { withoutStyles } from './without-styles.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const { repository } = JSON.parse(readFileSync(at('../../package.json'), 'utf8')) as { repository: string }
const places: Places = { root: at('../../').replace(/[\\/]$/, ''), pages: at('../../docs'), address: repository }

/** Where the site lies on its host: `/redrive/` on GitHub's. */
const base = process.env.SITE_BASE ?? '/'
const scripts = scriptFiles(base)

export default defineConfig({
  lang: 'en',
  title: 'redrive',
  description:
    'A durable retry queue for HTTP: backoff and jitter, one idempotency key, and tasks that survive a reload or a crash.',
  base,
  srcDir: '../docs',
  outDir: '../target/site',
  cacheDir: '../target/site-cache',
  rewrites: { 'adr/README.md': 'adr/index.md' },
  cleanUrls: true,
  appearance: { disableTransition: false }, // it would add a <style>, which the policy forbids
  metaChunk: true,
  contentProps: { class: 'content-of-page' }, // in place of a style attribute
  head: [['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }]],
  themeConfig: {
    logo: '/icon.svg',
    nav,
    sidebar: sidebar(places.pages),
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: false, _render: renderForSearch } },
    // as text, since a name would be looked up at another host while one develops
    socialLinks: [
      { icon: { svg: readFileSync(at('theme/github.svg'), 'utf8') }, link: repository, ariaLabel: 'GitHub' },
    ],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    externalLinkIcon: true,
    footer: { message: `MIT or Apache-2.0. <a href="${repository}/blob/main/CHANGELOG.md">Changelog</a>` },
  },
  markdown: {
    theme,
    codeTransformers: [classes],
    anchor: { slugify: anchorOf },
    config(md) {
      repositoryLinks(md, places)
      alignByClass(md)
      tagsAsText(md)
      tableHeads(md)
      widePictures(md)
    },
  },
  transformPageData(data) {
    // what is printed from docstrings is edited there
    if (data.relativePath.startsWith('api/')) data.frontmatter.editLink = false
  },
  transformHtml: (html, page) => withPolicy(scripts.moved(withoutStyles(html, page))),
  buildEnd({ outDir }) {
    scripts.write(outDir)
    imageFiles(outDir, base)
  },
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('redrive-') } } },
  vite: {
    publicDir: at('../public'),
    plugins: [
      searchBox,
      {
        // Vite looks for packages from the pages on, and those lie outside this folder
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId(id, _, { ssr = false }) {
          if (!/^vue(\/|$)/.test(id)) return null
          // what renders the pages in Node has one Vue, which it imports
          return ssr ? { id, external: true } : this.resolve(id, at('../package.json'), { skipSelf: true })
        },
      },
    ],
    resolve: {
      alias: [
        { find: /^redrive$/, replacement: at('../../pkg/index.page.js') },
        { find: /^redrive\/([\w-]+)$/, replacement: `${at('../../pkg')}/$1.js` },
        { find: /^@redrive\/ui$/, replacement: at('../../pkg-ui/ui.js') },
      ],
    },
    build: {
      assetsInlineLimit: 0, // the policy lets no picture lie in a data: URL
      chunkSizeWarningLimit: 2_500, // the search index, which is fetched when somebody searches
    },
    server: { host: '127.0.0.1', fs: { allow: [places.root] } },
    preview: { host: '127.0.0.1' },
  },
})
