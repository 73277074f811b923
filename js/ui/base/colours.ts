/** Colours for what is no CSS: canvases. The page's own theme decides, so they are read where they are used and again when it changes. */

/** The custom properties of `theme.ts` that plots draw with. */
export type ColourName =
  | 'ink'
  | 'soft'
  | 'line'
  | 'surface'
  | 'accent'
  | 'good'
  | 'warn'
  | 'bad'
  | `hue-${1 | 2 | 3 | 4 | 5 | 6}`

export type Colours = (name: ColourName) => string

/** Reads the colours that hold inside `root`. A custom property gives `light-dark(…)` as text: an element has to wear it to say what it comes to. */
export function coloursOf(root: ShadowRoot): Colours {
  const probe = root.appendChild(document.createElement('i'))
  probe.hidden = true
  const known = new Map<ColourName, string>()
  const read = (name: ColourName): string => {
    probe.style.color = `var(--_${name})`
    return getComputedStyle(probe).color
  }
  const names: ColourName[] = ['ink', 'soft', 'line', 'surface', 'accent', 'good', 'warn', 'bad']
  for (const hue of [1, 2, 3, 4, 5, 6] as const) names.push(`hue-${hue}`)
  for (const name of names) known.set(name, read(name))
  probe.remove()
  return (name) => known.get(name) ?? '#888'
}

/** Calls `changed` when the page may have changed its scheme: the system's, or a class or attribute of its root. Returns what ends that. */
export function watchScheme(changed: () => void): () => void {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['class', 'style', 'data-theme'] })
  query.addEventListener('change', changed)
  return () => {
    observer.disconnect()
    query.removeEventListener('change', changed)
  }
}
