/** A Worker in TypeScript, as strict as it goes, over the types that Cloudflare's own tool makes of its configuration. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { root } from '../packaging/pack.ts'
import { exampleProject, wrangler } from './wrangler.ts'

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

const worker = `
import { objectName, RedriveObject, type RedriveObjectOptions, withRetry, workerFetch } from 'redrive/cloudflare'

export class Outbox extends RedriveObject<Env> {
  override options: RedriveObjectOptions = {
    credentials: { [new URL(this.env.API).origin]: ({ principal }) => ({ authorization: this.env.API + principal }) },
    onRun: ({ attempts, nextRunAt }) => console.log(attempts, nextRunAt),
  }
}

export default withRetry({
  async fetch(request: Request, env: Env, ctx: ExecutionContext, fetch) {
    const plain = workerFetch({ queue: env.REDRIVE, ctx })
    await plain('https://api.example', { method: 'POST', redrive: { mode: 'defer' } })
    const outbox = env.REDRIVE.get(env.REDRIVE.idFromName(objectName(null, new URL(env.API).origin)))
    const { tasks, cursor } = await outbox.list({ status: 'EXHAUSTED' })
    console.log(tasks.map(({ meta, tags }) => meta?.order ?? tags), cursor, (await outbox.stats()).deadLetters)
    const task = await outbox.get('some-id')
    if (task) console.log(task.status, (await outbox.explain(task.taskId)).map(({ text }) => text))
    return fetch(env.API, { method: request.method, body: await request.text() })
  },
}) satisfies ExportedHandler<Env>

export const all = withRetry(
  {
    async scheduled(controller: ScheduledController, env: Env, _: ExecutionContext, fetch) {
      await fetch(env.API, { method: 'POST', body: controller.cron })
    },
    async queue(batch: MessageBatch<{ readonly pieces: number }>, env: Env, _: ExecutionContext, fetch) {
      for (const { body } of batch.messages) await fetch(env.API, { method: 'POST', body: String(body.pieces) })
    },
  },
  (env) => ({ principal: env.API, queue: (bound) => bound.REDRIVE }),
) satisfies ExportedHandler<Env, { readonly pieces: number }>
`

const tsconfig = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ESNext'],
    module: 'ESNext',
    moduleResolution: 'bundler',
    strict: true,
    exactOptionalPropertyTypes: true,
    noImplicitOverride: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['./worker-configuration.d.ts'],
  },
  files: ['src/index.ts'],
}

/** The recipes as they are printed; that of the README is JavaScript, which has no `override`. */
const printed = (page: string, language: string): string =>
  new RegExp(`\`\`\`${language}\\n([^\`]*withRetry.*?)\`\`\``, 's').exec(readFileSync(join(root, page), 'utf8'))?.[1] ??
  ''
const readme = printed('README.md', 'js').replace(/^ {2}options = /m, '  override options = ')
const page = printed('docs/workers.md', 'ts')

test.each([
  ['handlers know their environment, and stubs their object', worker],
  ['the recipe of the README, with `override`', readme],
  ['the recipe of the page, as it is printed', page],
])('a strict Worker compiles: %s', async (_, program) => {
  using project = exampleProject()
  const at = (name: string): string => join(project.folder, name)
  writeFileSync(at('src/index.ts'), program)
  writeFileSync(at('tsconfig.json'), JSON.stringify(tsconfig))
  writeFileSync(
    at('wrangler.jsonc'),
    readFileSync(at('wrangler.jsonc'), 'utf8').replace('src/index.js', 'src/index.ts'),
  )
  writeFileSync(at('.dev.vars'), 'API_TOKEN=any\n')
  await wrangler(project, 'types')
  await project.run(process.execPath, tsc, '-p', project.folder)
})
