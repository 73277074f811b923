/** The look of one task, its timeline and the log. */

import { type CSSResult, css } from 'lit'

export const taskStyles: CSSResult = css`
  .task {
    padding-top: 4px;
    min-width: 0;
  }
  .task h2 {
    flex: 1;
    min-width: 0;
    font-size: 14px;
    unicode-bidi: isolate;
  }
  .task h2:focus-visible {
    outline-offset: 4px;
  }
  .task h3 {
    margin: 14px 0 4px;
    color: var(--_soft);
    font-size: 12px;
    font-weight: 600;
  }
  .timeline {
    display: block;
    max-width: 100%;
    margin-top: 10px;
    font-size: 11px;
    overflow: visible;
  }
  .timeline text {
    fill: var(--_soft);
  }
  .timeline text.good,
  .piece.good {
    fill: var(--_good);
  }
  .timeline text.bad,
  .piece.bad {
    fill: var(--_bad);
  }
  .timeline text.warn,
  .piece.warn {
    fill: var(--_warn);
  }
  .wait,
  .tick,
  .hatch,
  .held {
    stroke: var(--_warn);
    stroke-width: 1.5;
  }
  .hatch {
    stroke-width: 3;
  }
  .held {
    stroke-width: 1;
  }
  .wait {
    stroke: var(--_soft);
  }
  .ahead {
    stroke-dasharray: 3 3;
  }
  .tick.soft {
    stroke: var(--_soft);
  }
  .tick.good {
    stroke: var(--_good);
  }
  .tick.bad {
    stroke: var(--_bad);
  }
  .tick.now {
    stroke: var(--_accent);
    stroke-width: 2;
  }
  ol {
    list-style: none;
  }
  .why li,
  .log li {
    display: grid;
    grid-template-columns: 76px 78px minmax(0, 1fr) auto;
    gap: 0 8px;
    padding: 2px 0;
  }
  b {
    font-weight: 600;
  }
  .log {
    max-height: var(--redrive-inspector-list, clamp(15rem, 60vh, 60rem));
    overflow: auto;
  }
  .log li {
    border-bottom: 1px solid color-mix(in srgb, var(--_line) 50%, transparent);
  }
  .why .waits {
    color: var(--_warn);
  }
  .facts > div {
    display: grid;
    grid-template-columns: minmax(64px, 110px) minmax(0, 1fr);
    gap: 8px;
    padding: 1px 0;
  }
  .facts dd {
    unicode-bidi: isolate;
    user-select: text;
  }
  @container (max-width: 639px) {
    .why li,
    .log li {
      grid-template-columns: 70px 1fr auto;
      padding: 4px 0;
    }
    .why li span,
    .log li span {
      grid-column: 1 / -1;
      grid-row: 2;
    }
  }
`
