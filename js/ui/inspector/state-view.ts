/** Words for where there is nothing to look at, where the source fails, and where it wants a token. */

import { html, nothing, type TemplateResult } from 'lit'
import { harmless } from 'redrive/internal'
import { seconds } from './held.ts'
import type { View } from './view.ts'
import type { Drawn } from './words.ts'

export const nothingView = (): TemplateResult =>
  html`<p class="empty soft">
    Nothing to look at yet. Set the property <code>queue</code> to a RetryQueue, <code>source</code> to an InspectorSource, or the attribute
    <code>src</code> to the address of a retry service.
  </p>`

/** The name, and whether what is shown is true now. */
export function headView({ source, isReadonly, failure, overview }: View): Drawn {
  const state = failure?.needsToken ? 'token needed' : failure ? 'disconnected' : overview ? 'live' : 'connecting'
  return html`<header>
    <h2 class="mono">${harmless(source.name)}</h2>
    ${isReadonly ? html`<span class="soft">read-only</span>` : nothing}
    <span class="mark ${failure ? 'bad' : overview ? 'good' : 'soft'}">${state}</span>
  </header>`
}

export function failureView(view: View): Drawn {
  const { failure, overview, now, lookNow } = view
  if (!failure) return nothing
  const { message, sinceAt, tryAt, needsToken } = failure
  if (needsToken) return tokenForm(view, message)
  return html`<div class="notice bad bar">
    <span role="alert">${harmless(message)}</span>
    <span class="soft">It has failed for ${seconds(now - sinceAt)}; asked again in ${seconds(tryAt - now)}.${overview ? ' What is below is from before.' : ''}</span>
    <button @click=${lookNow}>Ask now</button>
  </div>`
}

function tokenForm({ source, authorize }: View, why: string): Drawn {
  const submitted = (event: Event): void => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    authorize(String(new FormData(form).get('token') ?? '').trim())
    form.reset()
  }
  return html`<form class="notice bar" @submit=${submitted}>
    <label>Token <input name="token" type="password" required autocomplete="off" spellcheck="false" /></label>
    <button class="main">Connect</button>
    <span class="soft" role="status">${harmless(why)}. It is kept in the memory of this page, and sent to ${harmless(source.name)} alone.</span>
  </form>`
}
