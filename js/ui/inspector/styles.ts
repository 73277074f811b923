/** The look of the inspector, beside the theme: dense rows, aligned numbers, a word with each colour. */

import { type CSSResult, css } from 'lit'

export const inspectorStyles: CSSResult = css`
  :host {
    padding: 12px 14px 14px;
    overflow-wrap: anywhere;
    font-size: 13px;
  }
  header,
  .bar,
  .line {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px 10px;
  }
  header {
    margin-bottom: 8px;
  }
  header h2 {
    font-size: 14px;
    unicode-bidi: isolate;
  }
  header .mark {
    margin-inline-start: auto;
  }
  .bar {
    margin: 8px 0;
  }
  button,
  select,
  input:not([type='range'], [type='checkbox'], [type='radio']) {
    min-height: 28px;
    padding: 2px 9px;
  }
  button b {
    font-weight: 600;
  }
  [aria-disabled='true'] {
    opacity: 0.6;
    cursor: default;
  }
  button.quiet {
    color: var(--_accent);
    padding: 0 6px;
  }
  .mark {
    white-space: nowrap;
  }
  .mark::before {
    content: '';
    display: inline-block;
    width: 7px;
    height: 7px;
    margin-inline-end: 5px;
    border-radius: 50%;
    background: currentColor;
    vertical-align: 1px;
  }
  .accent {
    color: var(--_accent);
  }
  .notice {
    padding: 8px 10px;
    margin: 8px 0;
    background: var(--_surface);
    border-inline-start: 3px solid currentColor;
  }
  .stale {
    filter: grayscale(1);
  }
  .stale dd {
    color: var(--_soft);
  }
  .empty {
    padding: 28px 12px;
    text-align: center;
    text-wrap: balance;
  }
  .outcome {
    max-width: 70ch;
  }
  .numbers {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(104px, 1fr));
    gap: 1px;
    margin-bottom: 10px;
    background: var(--_line);
    border: 1px solid var(--_line);
    border-radius: 6px;
    overflow: hidden;
  }
  .numbers > div {
    padding: 7px 10px 6px;
    background: var(--_surface);
  }
  dt {
    color: var(--_soft);
  }
  .numbers dt {
    font-size: 12px;
  }
  .numbers dd {
    font-size: 18px;
    line-height: 1.25;
    font-weight: 550;
  }
  small {
    display: block;
    min-height: 16px;
    font-size: 12px;
    font-weight: 400;
    color: var(--_soft);
  }
  .charts {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr));
    gap: 10px 20px;
    margin: 10px 0;
  }
  [role='tablist'] {
    gap: 0;
    border-bottom: 1px solid var(--_line);
  }
  [role='tab'][role] {
    padding: 4px 14px;
    background: none;
    border: 0;
    border-bottom: 2px solid transparent;
    border-radius: 0;
  }
  [role='tab'][aria-selected='true'] {
    border-color: var(--_accent);
    font-weight: 600;
  }
  .label {
    display: none;
  }
  .origins {
    display: grid;
    grid-template-columns: minmax(120px, 1.6fr) minmax(110px, 1fr) repeat(3, auto) minmax(150px, 2fr) auto;
  }
  .origins [role='row'] {
    display: grid;
    grid-column: 1 / -1;
    grid-template-columns: subgrid;
    align-items: center;
    gap: 0 16px;
    padding: 3px 0;
    border-bottom: 1px solid var(--_line);
  }
  .origins [role='row'] > :nth-child(n + 3):not(:nth-child(6)) {
    text-align: end;
  }
  .states {
    display: flex;
    flex-wrap: wrap;
    gap: 0 8px;
  }
  .name,
  .url {
    unicode-bidi: isolate;
  }
  .head {
    color: var(--_soft);
    font-size: 12px;
  }
  .split {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 0 20px;
  }
  .list {
    container-type: inline-size;
  }
  .list [role='search'] input {
    flex: 1 1 220px;
    min-width: 0;
  }
  select {
    flex: 1 1 120px;
    min-width: 0;
    max-width: 260px;
  }
  .loaded {
    min-height: 28px;
  }
  .grid,
  .log {
    /* a shadow lies at the foot where there is more: the ground scrolls along and covers it at the end */
    background:
      linear-gradient(0deg, var(--_ground) 30%, transparent) 0 100% / 100% 30px no-repeat local,
      linear-gradient(0deg, color-mix(in srgb, var(--_ink) 26%, transparent), transparent) 0 100% / 100% 10px no-repeat,
      var(--_ground);
  }
  .log {
    --_ground: var(--_back);
  }
  .grid {
    --_ground: var(--_surface);
    position: relative;
    height: var(--redrive-inspector-list, clamp(15rem, 60vh, 60rem));
    overflow: auto;
    overscroll-behavior: contain;
    border: 1px solid var(--_line);
    border-radius: 6px;
    contain: strict;
  }
  .top {
    position: sticky;
    top: 0;
    z-index: 1;
    background: var(--_surface);
    border-bottom: 1px solid var(--_line);
  }
  .row {
    display: grid;
    grid-template-columns: 92px 62px minmax(0, 1fr) 56px minmax(0, 280px) 56px;
    align-items: center;
    gap: 0 10px;
    height: var(--row, 30px);
    padding: 0 10px;
    white-space: nowrap;
    cursor: default;
  }
  .row.head {
    height: 28px;
  }
  .row > * {
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .rows .row {
    border-bottom: 1px solid color-mix(in srgb, var(--_line) 50%, transparent);
  }
  .rows .row:hover {
    background: var(--_tint);
  }
  .row[aria-selected='true'] {
    background: var(--_tint);
  }
  .grid:focus-visible .active {
    outline: 2px solid var(--_accent);
    outline-offset: -2px;
  }
  .attempt,
  .next,
  .age {
    text-align: end;
  }
  .method {
    font-family: var(--_mono);
    font-size: 12px;
  }
  .bone {
    background: var(--_line);
    border-radius: 4px;
    color: transparent;
  }
  .bones .bone {
    margin: 8px 0;
    opacity: 0.6;
  }
  dialog {
    max-width: min(460px, calc(100vw - 32px));
    padding: 16px 18px;
    color: var(--_ink);
    background: var(--_surface);
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
  }
  dialog::backdrop {
    background: rgb(0 0 0 / 0.45);
  }
  dialog p,
  dialog label {
    display: block;
    margin: 8px 0;
  }
  dialog input:not([type='checkbox']) {
    width: 8em;
    margin: 0 4px;
  }
  .end {
    justify-content: end;
    margin-bottom: 0;
  }
  progress {
    width: 160px;
  }
  @media (prefers-reduced-motion: no-preference) {
    .bone {
      animation: breathe 1.6s ease-in-out infinite alternate;
    }
    @keyframes breathe {
      to {
        opacity: 0.35;
      }
    }
  }
  @container (min-width: 1000px) {
    .split.opened {
      grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    }
  }
  @container (max-width: 999px) {
    .split.opened .list {
      display: none;
    }
  }
  @container (max-width: 899px) {
    .row.head {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
    }
    .row {
      grid-template: 'status attempt next age' auto 'method url url url' auto / 88px 76px 1fr auto;
      align-content: center;
    }
    .row .status {
      grid-area: status;
    }
    .row .attempt {
      grid-area: attempt;
    }
    .row .next {
      grid-area: next;
      text-align: start;
    }
    .row .age {
      grid-area: age;
    }
    .row .method {
      grid-area: method;
    }
    .row .url {
      grid-area: url;
    }
    .row .label {
      display: inline;
    }
  }
  @container (max-width: 479px) {
    .row {
      grid-template: 'status method attempt age' auto 'url url url url' auto 'next next next next' auto / auto auto 1fr auto;
    }
    .row .attempt {
      text-align: start;
    }
  }
  @container (max-width: 639px) {
    .label {
      display: inline;
    }
    .origins,
    .origins [role='row'] {
      display: flex;
      flex-wrap: wrap;
      gap: 2px 12px;
    }
    .origins .head {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
    }
    .origins .name,
    .origins .states,
    .origins .event {
      flex: 1 1 100%;
    }
    .list [role='search'] input,
    .acts {
      flex-basis: 100%;
    }
  }
`
