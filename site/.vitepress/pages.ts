// Which page is found where. Every page of docs/ has a place here: one that is forgotten, and one that is gone, ends the build.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

type Item = DefaultTheme.SidebarItem
const page = (text: string, link: string): Item => ({ text, link })

const guide: readonly Item[] = [
  {
    text: 'Start',
    items: [
      page('First retry', '/guide/first-retry'),
      page('A form that works offline', '/guide/offline'),
      page('Webhooks from Node', '/guide/node'),
      page('A Worker', '/workers'),
      page('The retry service', '/service'),
    ],
  },
  {
    text: 'Concepts',
    items: [
      page('Await, defer or enqueue', '/choosing'),
      page('At least once', '/concepts/at-least-once'),
      page('Keys', '/concepts/keys'),
      page('Lanes', '/concepts/lanes'),
      page('Leases', '/concepts/leases'),
      page('Gates', '/concepts/gates'),
      page('Glossary', '/glossary'),
    ],
  },
  {
    text: 'Guides',
    items: [
      page('Many tabs', '/guide/many-tabs'),
      page('Service worker', '/service-worker'),
      page('Redis', '/redis'),
      page('Middleware', '/middleware'),
      page('Libraries that take a fetch', '/http-clients'),
      page('undici', '/undici'),
      page('gRPC', '/grpc'),
      page('React, Vue, Svelte', '/frameworks'),
      page('Go, Java and other hosts', '/hosts'),
      page('Recipes', '/recipes'),
      page('Testing your code', '/testing-your-code'),
      page('The inspector', '/inspector'),
      page('Ten calls, live', '/live'),
      page('Lab', '/lab'),
    ],
  },
  {
    text: 'The service in full',
    items: [
      page('Credentials, signatures, bodies', '/service-sending'),
      page('Callbacks and events', '/service-events'),
      page('Limits, tenants, quotas', '/service-limits'),
      page('Its security', '/service-security'),
    ],
  },
  {
    text: 'Operating',
    items: [
      page('Metrics, alerts, upgrade, backup', '/operating'),
      page('When a call fails', '/problems'),
      page('Observability', '/observability'),
      page('Servers in the wild', '/wild'),
    ],
  },
  {
    text: 'Coming from',
    items: [
      page('axios-retry', '/coming-from#axios-retry'),
      page('axios-retry’s interface', '/compat-axios-retry'),
      page('ky', '/coming-from#ky'),
      page('p-retry', '/coming-from#p-retry'),
      page('p-queue', '/coming-from#p-queue'),
      page('Workbox', '/coming-from#workbox-background-sync'),
      page('Serwist', '/coming-from#serwist'),
      page('Workbox’s API', '/compat-workbox'),
      page('Differences', '/differences'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Options', '/options'),
      page('API', '/api/'),
      page('What is retried', '/retries'),
      page('Backoff', '/backoff'),
      page('Gates in full', '/gates'),
      page('Headers and URLs', '/headers'),
      page('Durability', '/durability'),
      page('Bundlers and runtimes', '/packaging'),
    ],
  },
  {
    text: 'Proof',
    items: [
      page('Guarantees', '/guarantees'),
      page('Invariants', '/invariants'),
      page('Storms', '/storms'),
      page('Benchmarks', '/benchmarks'),
      page('Security', '/security'),
      page('Decisions', '/adr/'),
    ],
  },
]

export const nav: DefaultTheme.NavItem[] = [
  {
    text: 'Guide',
    link: '/guide/first-retry',
    activeMatch: '^/(guide|concepts)/|^/(choosing|workers|service|middleware|recipes|operating|coming-from)',
  },
  { text: 'Live', link: '/live' },
  { text: 'Lab', link: '/lab' },
  { text: 'API', link: '/api/', activeMatch: '^/api/|^/options' },
  { text: 'Benchmarks', link: '/benchmarks' },
  { text: 'Guarantees', link: '/guarantees' },
]

const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/'))
    .sort()

const headingOf = (file: string): string => {
  const heading = /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  if (heading === undefined) throw new Error(`${file} has no heading`)
  return heading.replaceAll(/\\(.)/g, '$1')
}

/** The decisions, by their own headings. */
function decisions(docs: string): Item[] {
  const names = filesUnder(join(docs, 'adr')).filter((name) => /^\/\d/.test(name))
  const items = names.map((name) => page(headingOf(join(docs, 'adr', name)), `/adr${name.replace(/\.md$/, '')}`))
  return [
    { text: 'Decisions', items: [page('All of them', '/adr/'), ...items] },
    { items: [page('Guide', '/guide/first-retry')] },
  ]
}

const FOLDERS = ['functions', 'classes', 'variables', 'interfaces', 'type-aliases']

/** An entry of the package, and under it what it exports. */
function api(docs: string): Item[] {
  const folder = join(docs, 'api')
  const names = filesUnder(folder)
  const modules = names.filter((name) => name.endsWith('/index.md') && name !== '/index.md')
  const items = modules.map((name): Item => {
    const own = name.slice(0, -'index.md'.length)
    const members = FOLDERS.flatMap((kind) => names.filter((each) => each.startsWith(`${own}${kind}/`)))
    return {
      text: headingOf(join(folder, name)),
      link: `/api${own}`,
      collapsed: true,
      items: members.map((each) => page(headingOf(join(folder, each)), `/api${each.replace(/\.md$/, '')}`)),
    }
  })
  items.sort((one, other) => (one.text ?? '').localeCompare(other.text ?? '', 'en'))
  return [
    { text: 'API', link: '/api/', items },
    {
      text: 'Look up',
      items: [page('Options', '/options'), page('Guide', '/guide/first-retry')],
    },
  ]
}

const linksIn = (items: readonly Item[]): string[] =>
  items.flatMap(({ link, items: more = [] }) => [...(link === undefined ? [] : [link]), ...linksIn(more)])

export function sidebar(docs: string): DefaultTheme.SidebarMulti {
  const bars = {
    '/adr/': decisions(docs),
    '/api/': api(docs),
    '/': [...guide],
  }
  const placed = new Set(
    linksIn(Object.values(bars).flat()).map((link) => link.replace(/#.*/, '').replace(/\/$/, '/index')),
  )
  placed.add('/index')
  const there = filesUnder(docs).map((name) => name.replace(/README\.md$/, 'index.md').replace(/\.md$/, ''))
  const lost = there.filter((name) => !placed.has(name))
  const gone = [...placed].filter((link) => !there.includes(link))
  if (lost.length + gone.length > 0) {
    throw new Error(
      `site/.vitepress/pages.ts: no place for ${lost.join(', ') || 'none'}; no page for ${gone.join(', ') || 'none'}`,
    )
  }
  return bars
}
