/**
 * The look that both elements share. Every colour is a custom property of the page with a default behind it, so that a page themes them
 * without reaching inside; `light-dark()` follows the page's `color-scheme`. All of it is constructable stylesheets: no inline style, so a
 * strict CSP needs no `unsafe-inline`.
 */

import { type CSSResult, css } from 'lit'

/** Six hues for what comes one after another: attempts, retries, series. Distinguishable by people who see no red or no green, on both grounds. */
export const HUES = 6

export const theme: CSSResult = css`
  :host {
    --_ink: var(--redrive-ink, light-dark(#1d2733, #e6ebf0));
    --_soft: var(--redrive-soft, light-dark(#566574, #9fb0c0));
    --_line: var(--redrive-line, light-dark(#d3dbe3, #36424e));
    --_surface: var(--redrive-surface, light-dark(#ffffff, #1c242c));
    --_back: var(--redrive-back, light-dark(#f5f7fa, #12181e));
    --_accent: var(--redrive-accent, light-dark(#1f5fa8, #6fb1f5));
    --_good: var(--redrive-good, light-dark(#0b6e4f, #4cc79a));
    --_warn: var(--redrive-warn, light-dark(#8a5a00, #e2b33c));
    --_bad: var(--redrive-bad, light-dark(#b3362d, #f08a80));
    --_hue-1: light-dark(#1f5fa8, #6fb1f5);
    --_hue-2: light-dark(#b5500f, #f0935a);
    --_hue-3: light-dark(#0b6e4f, #4cc79a);
    --_hue-4: light-dark(#8a3f9e, #cf8fe0);
    --_hue-5: light-dark(#8a6d00, #d9b64a);
    --_hue-6: light-dark(#b3362d, #ee7f76);
    --_mono: var(--redrive-mono, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace);
    --_radius: var(--redrive-radius, 10px);
    --_tint: color-mix(in srgb, var(--_accent) 12%, transparent);
    display: block;
    box-sizing: border-box;
    container-type: inline-size;
    color: var(--_ink);
    background: var(--_back);
    border-radius: var(--_radius);
    font: 14px / 1.45 var(--redrive-font, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif);
    font-variant-numeric: tabular-nums;
    text-align: start;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  ::before,
  ::after {
    box-sizing: border-box;
  }
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  figure {
    margin: 0;
    padding: 0;
  }
  h2 {
    font-size: 16px;
    line-height: 1.3;
  }
  h3 {
    font-size: 14px;
    line-height: 1.3;
  }
  .soft {
    color: var(--_soft);
  }
  .mono {
    font-family: var(--_mono);
    font-size: 12.5px;
  }
  .good {
    color: var(--_good);
  }
  .warn {
    color: var(--_warn);
  }
  .bad {
    color: var(--_bad);
  }
  .panel {
    background: var(--_surface);
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    padding: 14px 16px;
    min-width: 0;
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  button,
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
    accent-color: var(--_accent);
  }
  button,
  select,
  input:not([type='range'], [type='checkbox'], [type='radio']),
  textarea {
    min-height: 32px;
    padding: 4px 10px;
    background: var(--_surface);
    border: 1px solid color-mix(in srgb, var(--_soft) 75%, var(--_line));
    border-radius: 6px;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--_accent);
    background: color-mix(in srgb, var(--_accent) 8%, var(--_surface));
  }
  button:disabled {
    opacity: 0.55;
    cursor: default;
  }
  button.main {
    background: var(--_accent);
    border-color: var(--_accent);
    color: var(--_surface);
  }
  button.danger {
    color: var(--_bad);
    border-color: var(--_bad);
  }
  button.quiet {
    border-color: transparent;
    background: none;
  }
  button[aria-pressed='true'],
  button[aria-selected='true'] {
    background: var(--_tint);
    border-color: var(--_accent);
  }
  :focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 2px;
  }
  input[aria-invalid='true'],
  textarea[aria-invalid='true'] {
    border-color: var(--_bad);
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    padding: 4px 10px 4px 0;
    text-align: end;
    vertical-align: baseline;
    border-bottom: 1px solid var(--_line);
    white-space: nowrap;
  }
  th {
    color: var(--_soft);
    font-weight: 500;
  }
  th:first-child,
  td:first-child {
    text-align: start;
  }
  [role='tablist'] {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
  }
  progress {
    width: 100%;
    height: 6px;
    accent-color: var(--_accent);
  }
  @media (prefers-reduced-motion: no-preference) {
    button {
      transition:
        background 0.12s,
        border-color 0.12s;
    }
  }
`
