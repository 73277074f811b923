/** The layout of the lab: controls beside the views, below them where there is no room. */

import { type CSSResult, css } from 'lit'

export const labStyle: CSSResult = css`
  :host {
    padding: 16px;
  }
  .lab {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 14px;
    align-items: start;
  }
  header {
    display: flex;
    flex-wrap: wrap;
    gap: 8px 16px;
    align-items: center;
    justify-content: space-between;
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    align-items: center;
  }
  .knobs {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 230px), 1fr));
    gap: 12px 24px;
  }
  .code {
    display: grid;
    gap: 12px;
  }
  .knob {
    display: grid;
    grid-template-columns: minmax(0, 1fr) 104px;
    gap: 2px 10px;
    align-items: center;
  }
  .knob > label {
    font-weight: 500;
  }
  .knob > input[type='range'] {
    grid-column: 1 / -1;
    width: 100%;
    margin: 0;
    min-height: 24px;
  }
  .knob > input[type='text'],
  .knob > select {
    width: 100%;
    text-align: end;
  }
  .knob.wide {
    grid-template-columns: minmax(0, 1fr);
  }
  .knob.wide > input,
  .knob.wide > select,
  .knob.wide > textarea {
    width: 100%;
    text-align: start;
  }
  .knob .note {
    grid-column: 1 / -1;
    font-size: 12.5px;
    overflow-wrap: anywhere;
  }
  textarea {
    resize: vertical;
    min-height: 150px;
    font-family: var(--_mono);
    font-size: 12.5px;
    line-height: 1.5;
  }
  #view {
    display: grid;
    gap: 18px;
  }
  figure {
    display: grid;
    gap: 10px;
    min-width: 0;
  }
  figcaption {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    align-items: baseline;
    justify-content: space-between;
  }
  .summary {
    max-width: 78ch;
  }
  .figures {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(112px, 1fr));
    gap: 10px 18px;
  }
  .figures dt {
    color: var(--_soft);
    font-size: 12.5px;
  }
  .figures dd {
    font-size: 19px;
    font-weight: 600;
    line-height: 1.25;
  }
  .figures dd.help {
    font-size: 12.5px;
    font-weight: 400;
    color: var(--_soft);
  }
  /* A shadow lies on each side where there is more: what scrolls along covers it at the end. */
  .scroll,
  pre {
    --_ground: var(--_surface);
    --_shade: color-mix(in srgb, var(--_ink) 26%, transparent);
    overflow: auto;
    background:
      linear-gradient(90deg, var(--_ground) 30%, transparent) 0 0 / 30px 100% no-repeat local,
      linear-gradient(-90deg, var(--_ground) 30%, transparent) 100% 0 / 30px 100% no-repeat local,
      linear-gradient(0deg, var(--_ground) 30%, transparent) 0 100% / 100% 30px no-repeat local,
      linear-gradient(90deg, var(--_shade), transparent) 0 0 / 10px 100% no-repeat,
      linear-gradient(-90deg, var(--_shade), transparent) 100% 0 / 10px 100% no-repeat,
      linear-gradient(0deg, var(--_shade), transparent) 0 100% / 100% 10px no-repeat,
      var(--_ground);
  }
  .scroll {
    max-height: 340px;
  }
  .scroll thead th {
    position: sticky;
    top: 0;
    background: var(--_surface);
  }
  .scroll tbody td:first-child {
    white-space: normal;
    min-width: 7ch;
  }
  figure,
  .panel {
    position: relative;
  }
  .busy {
    position: absolute;
    inset: -4px 0 auto auto;
    z-index: 1;
    width: min(260px, 75%);
    padding-inline-start: 10px;
    background: var(--_surface);
    display: grid;
    grid-template-columns: minmax(0, 1fr) 5ch auto;
    gap: 10px;
    align-items: center;
    font-size: 12.5px;
  }
  .stale {
    opacity: 0.55;
  }
  .error {
    color: var(--_bad);
    overflow-wrap: anywhere;
  }
  .row {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(210px, 1fr));
    gap: 12px 20px;
    align-items: start;
  }
  pre {
    --_ground: var(--_back);
    margin: 0;
    padding: 10px 12px;
    border-radius: 6px;
    font: 12.5px/1.5 var(--_mono);
  }
  .frontier {
    display: grid;
    gap: 14px;
  }
  .frontier svg {
    display: block;
    max-width: 100%;
    height: auto;
    font-size: 12px;
    fill: var(--_soft);
  }
  .grid path {
    stroke: var(--_line);
  }
  .frontier g path {
    stroke: var(--_line);
    fill: none;
  }
  .frontier circle {
    fill: var(--_hue-1);
  }
  .frontier .tag {
    fill: var(--_surface);
    stroke: var(--_line);
  }
  .frontier g text {
    fill: var(--_soft);
    font-size: 11px;
  }
  .frontier .spread circle:not(.tag) {
    fill: var(--_hue-3);
  }
  .frontier .own circle:not(.tag) {
    fill: var(--_hue-2);
  }
  .frontier .own .tag {
    stroke: var(--_hue-2);
  }
  .frontier .own text {
    fill: var(--_hue-2);
  }
  .keys {
    list-style: none;
    columns: 2 220px;
    column-gap: 24px;
    font-size: 13px;
  }
  .keys b {
    display: inline-block;
    min-width: 2.1em;
    text-align: end;
    padding-inline-end: 0.5em;
    font-weight: 500;
    color: var(--_soft);
  }
  .keys .spread {
    color: var(--_hue-3);
  }
  .keys .own {
    color: var(--_hue-2);
    font-weight: 600;
  }
  @container (min-width: 900px) {
    .lab {
      grid-template: auto auto 1fr / 300px minmax(0, 1fr);
    }
    .lab > header {
      grid-column: 1 / -1;
    }
    .knobs {
      grid-area: 2 / 1 / span 2;
    }
    #view,
    .code {
      grid-column: 2;
    }
    #view > .row {
      order: -1;
    }
    .frontier {
      grid-template-columns: minmax(0, 1fr) 230px;
      align-items: center;
    }
    .keys {
      columns: 1;
    }
  }
`
