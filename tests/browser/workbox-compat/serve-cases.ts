/** Runs the cases in a service worker that is told to, one after another, and answers with what was seen. */
import { cases } from './cases.ts'
import { kitOf, type Side } from './kit.ts'

/** By the names of the cases. */
export type Seen = Readonly<Record<string, unknown>>

export const keyOf = ({ about, name }: { readonly about: string; readonly name: string }): string => `${about}: ${name}`

export function serveCases(side: Side): void {
  const hasSync = 'sync' in (globalThis as unknown as { readonly registration: object }).registration
  globalThis.addEventListener('message', async ({ ports: [reply] }) => {
    const seen: Record<string, unknown> = {}
    for (const each of cases) {
      if (each.needsSync && !hasSync) continue
      try {
        seen[keyOf(each)] = await each.run(kitOf(side))
      } catch (error) {
        seen[keyOf(each)] = `threw ${error}`
      }
      await side.clear()
    }
    reply?.postMessage(seen)
  })
}
