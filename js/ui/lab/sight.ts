/** A view as data: a picture, a sentence that says the same, and a table with every number of it. */

import type { TemplateResult } from 'lit'

export interface Sight {
  readonly title: string
  /** The picture in words, for those who do not see it, and for those who do. */
  readonly summary: string
  readonly picture: TemplateResult
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Figures beside the picture: a name, a value, and what it means. */
  readonly figures: readonly Figure[]
}

export interface Figure {
  readonly name: string
  readonly value: string
  /** This figure of what is compared. */
  readonly beside?: string
  readonly help?: string
  readonly tone?: 'good' | 'warn' | 'bad'
}

export const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`
export const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '–')
