/** The button and the panel of `mountInspector`, loaded when it is called. */

import { css } from 'lit'
import type { RetryQueue } from 'redrive'
import { grouped, plural } from 'redrive/internal'
import { theme } from '../base/theme.ts'
import type { RedriveInspectorElement } from '../elements.ts'
import type { InspectorOverview, InspectorSource } from './source.ts'

export interface MountOptions {
  /** In place of the queue. @default that of the queue */
  readonly source?: InspectorSource
  /** Without any action. @default false */
  readonly readonly?: boolean
  /** The panel is open from the beginning. @default false */
  readonly open?: boolean
}

const styles = css`
  :host {
    position: fixed;
    inset: auto 12px 12px auto;
    z-index: 2147483000;
    background: none;
    container-type: normal;
  }
  .open {
    box-shadow: 0 2px 10px rgb(0 0 0 / 0.25);
    font-weight: 600;
  }
  .sheet {
    position: fixed;
    inset: auto 12px 56px auto;
    width: min(1100px, calc(100vw - 24px));
    max-height: calc(100vh - 80px);
    overflow: auto;
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    box-shadow: 0 8px 40px rgb(0 0 0 / 0.35);
    --redrive-inspector-list: clamp(12rem, 45vh, 40rem);
  }
  .title {
    display: flex;
    justify-content: space-between;
    align-items: center;
    padding: 6px 8px 0 14px;
    background: var(--_back);
  }
  .sheet[hidden] {
    display: none;
  }
`

/** Puts them into the page; returns what takes them away. */
export function mounted(queue: RetryQueue, options: MountOptions): () => void {
  const host = document.createElement('div')
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [theme, styles].map(({ styleSheet }) => styleSheet).filter((sheet) => sheet !== undefined)
  const button = root.appendChild(document.createElement('button'))
  button.className = 'open'
  const sheet = root.appendChild(document.createElement('div'))
  sheet.className = 'sheet'
  sheet.id = 'sheet'
  sheet.setAttribute('role', 'dialog')
  sheet.setAttribute('aria-labelledby', 'title')
  const title = sheet.appendChild(document.createElement('div'))
  title.className = 'title'
  const name = title.appendChild(document.createElement('h2'))
  name.id = 'title'
  name.textContent = 'Inspector'
  const close = title.appendChild(document.createElement('button'))
  close.className = 'quiet'
  close.textContent = '✕'
  close.setAttribute('aria-label', 'Close the inspector')
  button.setAttribute('aria-controls', 'sheet')
  // by its name: where the page has two copies of the package, the other one has defined it
  const inspector = document.createElement('redrive-inspector') as RedriveInspectorElement
  inspector.readonly = options.readonly ?? false
  if (options.source) inspector.source = options.source
  else inspector.queue = queue
  sheet.append(inspector)

  const show = (isOpen: boolean): void => {
    sheet.hidden = !isOpen
    button.setAttribute('aria-expanded', String(isOpen))
  }
  const label = (overview?: InspectorOverview): void => {
    const { depth = 0, inFlight = 0, deadLetters = 0 } = overview ?? {}
    button.textContent = `${grouped(depth - inFlight)} waiting${deadLetters > 0 ? ` · ${plural(deadLetters, 'dead letter')}` : ''}`
    button.setAttribute('aria-label', `Inspector of the queue: ${button.textContent}`)
  }
  label()
  show(options.open ?? false)
  inspector.addEventListener('redrive-look', (event) => label((event as CustomEvent<InspectorOverview>).detail))
  button.addEventListener('click', () => show(sheet.hidden === true))
  const hide = (): void => {
    show(false)
    button.focus()
  }
  close.addEventListener('click', hide)
  root.addEventListener('keydown', (event) => {
    // an Escape that closed something inside is used up
    if ((event as KeyboardEvent).key === 'Escape' && !event.defaultPrevented && !sheet.hidden) hide()
  })
  document.body.append(host)
  return () => host.remove()
}
