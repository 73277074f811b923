/** The table of docs/compat-workbox.md, made of the cases. */
import { cases } from './cases.ts'
import type { Case } from './kit.ts'

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const aboutOf = ({ about }: Case): string => (about.includes(' ') ? about : `\`${about}\``)

/** The cases that end otherwise, and why. */
export function differencesTable(): string {
  const rows = cases.flatMap((each) => {
    const { name, differs } = each
    return differs ? [row(`${aboutOf(each)}: ${name}`, differs.workbox, differs.redrive, differs.why)] : []
  })
  return [row('case', 'Workbox', 'redrive', 'why'), row('---', '---', '---', '---'), ...rows].join('\n')
}

/** How many there are of both, in words. */
export function tally(): string {
  const different = cases.filter(({ differs }) => differs).length
  return `Of ${cases.length} cases, ${cases.length - different} end as in Workbox, and ${different} do not.`
}
