import { html, type TemplateResult } from 'lit'
import { RedriveElement } from '../base/element.ts'

export class RedriveCurve extends RedriveElement {
  override render(): TemplateResult {
    return html`<p class="panel">soon</p>`
  }
}
