/** The names under which a page themes the elements. Apart from the sheet, since a server may list them. */

/** The custom properties that a page may set, each with what it is for. Part of the public API. */
export const THEME: Readonly<Record<string, string>> = {
  '--redrive-ink': 'text',
  '--redrive-soft': 'secondary text, axes',
  '--redrive-line': 'borders and grid lines',
  '--redrive-surface': 'panels, inputs',
  '--redrive-back': 'the ground behind panels',
  '--redrive-accent': 'what can be acted on, the chosen series',
  '--redrive-good': 'success',
  '--redrive-warn': 'waiting, warnings',
  '--redrive-bad': 'failure, destructive actions',
  '--redrive-font': 'the font of text',
  '--redrive-mono': 'the font of keys, ids and JSON',
  '--redrive-radius': 'the radius of corners',
}
