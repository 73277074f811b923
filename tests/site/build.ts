// Vitest's hook, run once before the tests of the suite: the site as it is deployed.
import { buildSite, writeApi } from '../../scripts/site.mjs'

export async function setup(): Promise<void> {
  await writeApi()
  await buildSite()
}
