// `npm run check`: everything that can be judged without running the product. All checks run, with one line each; failures
// are shown in full at the end.
import { build } from './build.mjs'
import { checkBuilt, checkRust, reportChecks } from './check/all.mjs'
import { main } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await Promise.all([checkRust(), checkBuilt(build())])
  if (!reportChecks()) process.exitCode = 1
})
