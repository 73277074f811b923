/** `<redrive-curve>` of a page as its reader has it: its words, its table, its fields. Expressions, since both browsers take those. */
import type { Tab } from '../engines.ts'

const LAB = "document.querySelector('redrive-curve')"
const ROOT = `${LAB}.shadowRoot`
const text = JSON.stringify

/** The fragment of a link to a state, as "Copy link" makes it. */
export const link = (state: Readonly<Record<string, unknown>>): string =>
  `#redrive-curve?${new URLSearchParams(Object.entries(state).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))}`

export interface Shown {
  readonly title: string
  readonly summary: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly figures: Readonly<Record<string, string>>
  /** These figures of what is compared. */
  readonly beside: Readonly<Record<string, string>>
}

/** Waits until `expression` is true in the page. */
export async function until(tab: Tab, expression: string): Promise<void> {
  await tab.run(`new Promise((resolve, reject) => {
    const ends = performance.now() + 50_000
    const look = () => {
      let is = false
      try { is = ${expression} } catch {}
      if (is) resolve(null)
      else if (performance.now() > ends) reject(new Error(${text(`not within 50 s: ${expression}`)}))
      else requestAnimationFrame(look)
    }
    look()
  })`)
}

const TITLE = `${ROOT}.querySelector('figcaption h2').textContent`
const IDLE = `${ROOT}.querySelector('figure').getAttribute('aria-busy') === 'false'`

/** What is shown once nothing is computed any more; `title`: part of the view's heading. */
export async function shown(tab: Tab, title: string): Promise<Shown> {
  await until(tab, `${TITLE}.includes(${text(title)}) && ${IDLE}`)
  return tab.run(`(() => {
    const root = ${ROOT}
    const words = (node) => node.textContent.trim()
    const all = (selector, of = root) => [...of.querySelectorAll(selector)]
    const figures = (value) => Object.fromEntries(all('.figures > div').filter((each) => each.querySelector(value))
      .map((each) => [words(each.querySelector('dt')), words(each.querySelector(value))]))
    return {
      title: ${TITLE},
      summary: words(root.querySelector('.summary')),
      columns: all('#table th').map(words),
      rows: all('#table tbody tr').map((row) => all('td', row).map(words)),
      figures: figures('dd'),
      beside: figures('dd.beside'),
    }
  })()`)
}

/** Types into a field and leaves it. */
export const fill = (tab: Tab, id: string, value: string): Promise<unknown> =>
  tab.run(`(async () => {
    const field = ${ROOT}.getElementById(${text(id)})
    field.value = ${text(value)}
    field.dispatchEvent(new Event('input', { bubbles: true }))
    field.dispatchEvent(new Event('change', { bubbles: true }))
    await ${LAB}.updateComplete
  })()`)

export const fieldOf = (tab: Tab, id: string): Promise<string> => tab.run(`${ROOT}.getElementById(${text(id)}).value`)
export const noteOf = (tab: Tab, id: string): Promise<string> =>
  tab.run(`${ROOT}.getElementById(${text(id)}).textContent.trim()`)
