// What axe finds wrong with a page as it is shown.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const axe = readFileSync(fileURLToPath(new URL('../../site/node_modules/axe-core/axe.min.js', import.meta.url)), 'utf8')

interface Finding {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** A line for each kind of fault. */
export async function foundByAxe(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const violations = await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )
  return (violations as readonly Finding[]).map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.length}, as ${nodes[0]?.html} ${nodes[0]?.failureSummary ?? ''}`,
  )
}
