// Its types as a user's compiler reads them, every entry at once, the package's own declarations checked too. What `wrangler types` makes is in
// tests/workers; older compilers are in all/.
import { SIZE } from '../size.ts'
import { versioned } from './consumer.ts'
import { tries } from './tries.ts'
import { bothOfAxios, judge, libraries, ownCompiler, required } from './typed.ts'

const all = [...Object.values(libraries), bothOfAxios]
const every = SIZE === 'quick' ? all.slice(0, 1) : all

for (const moduleResolution of ['nodenext', 'bundler'] as const) {
  tries(versioned('TypeScript', 'typescript'), `moduleResolution ${moduleResolution}`, async () => {
    for (const library of every) await judge(ownCompiler, library, moduleResolution)
  })
}

tries(versioned('TypeScript', 'typescript'), 'CommonJS, moduleResolution nodenext', async () => {
  await judge(ownCompiler, required, 'nodenext')
})
