// The rule that knip holds the code to: an exported name of js/ is used in another file of the repository, or an entry of a package has it.
import { entries, serviceEntries, uiEntries } from '../build/entries.mjs'

export default {
  entry: [
    ...Object.values({ ...entries, ...serviceEntries, ...uiEntries }),
    // handed on whole, as an `EngineModule`
    'js/queue/chunk.*.ts',
    '{tests,benches,examples,scripts,site,docs}/**/*.{ts,mts,tsx,js,mjs}',
  ],
  project: ['js/**/*.ts'],
  ignore: ['js/core/generated/**', 'js/stores/redis/generated/**'],
}
