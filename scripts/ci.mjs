// Runs `.ci/run`: every check, and every suite in its quick form, side by side where one need not wait for the other. Both
// parts run to their end whatever fails, so one report says all that is wrong; the runners' own summaries end it.
import { checkBuilt, checkRust, reportChecks } from './check/all.mjs'
import { duration, main, tell, yieldingToOthers } from './lib/steps.mjs'
import { begin, isIn, reportSuites, runSuites, suites } from './test/all.mjs'

await main(async () => {
  const started = performance.now()
  const names = Object.keys(suites).filter((name) => isIn('quick', name))
  const begun = await begin(names, 'quick')
  // cargo's checks come before its tests: they share a folder, and one would wait for the other
  const rust = begun.rust.then(() => yieldingToOthers(checkRust))
  const judged = checkBuilt(begun.built)
  const results = await runSuites(names, { begun: { ...begun, rust }, size: 'quick' })
  await judged
  const ok = reportChecks()
  const passed = reportSuites(results)
  tell(`in ${duration(performance.now() - started)}`)
  if (!ok || !passed) process.exitCode = 1
})
