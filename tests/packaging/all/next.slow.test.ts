// examples/next as its reader gets it, built and started: a server component, a route handler and a client component each
// call something that fails once. Beside it a route on the edge.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { launch } from '../../browser/chromium.ts'
import { duringTests } from '../../during.ts'
import { freePort } from '../../servers/free-port.ts'
import { aroundTheFirstCall } from '../browser.ts'
import { started } from '../children.ts'
import { consumer, expected, program } from '../consumer.ts'
import { root } from '../pack.ts'
import { tries } from '../tries.ts'
import { type Budget, weighPage } from '../weigh.ts'
import { consumersFolder, installed, modules } from './installed.ts'

/** Beside the example, whose own route handler runs in Node: Vercel's edge, which refuses to compile bytes. */
const onTheEdge = `
import { main } from './queue.js'
export const runtime = 'edge'
export const GET = async (request) => Response.json(await main(new URL('/api/flaky/edge', request.url).href))
`

/** With React and the framework. */
const BUDGET: Budget = { before: 150_000, after: 233_000 }

vi.setConfig({ testTimeout: 240_000 }) // two builds of a framework, maybe on a busy machine

const browser = duringTests(() => launch())

const next = join(modules, 'next', 'dist', 'bin', 'next')

for (const bundler of ['--turbopack', '--webpack']) {
  tries(
    installed('Next.js', 'next'),
    `build ${bundler}, start: server component, route handlers in Node and on the edge, client component`,
    async () => {
      using project = consumer(
        { 'app/api/edge/route.js': onTheEdge, 'app/api/edge/queue.js': program },
        consumersFolder,
      )
      cpSync(join(root, 'examples', 'next', 'app'), join(project.folder, 'app'), { recursive: true })
      await project.run(process.execPath, next, 'build', bundler)
      const port = await freePort()
      await using _ = await started(project, 'Ready', [next, 'start', '-H', '127.0.0.1', '-p', `${port}`])

      await using page = await browser.newPage()
      const errors: string[] = []
      const requests: string[] = []
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('request', (request) => requests.push(new URL(request.url()).pathname))
      await page.goto(`http://127.0.0.1:${port}/`)
      await page.waitForSelector('#client')
      expect(await page.textContent('#server')).toBe('server-component: attempt 2')
      expect(await page.textContent('#client')).toBe('client-component: attempt 2, route-handler: attempt 2')
      expect(errors).toEqual([])
      const edge = await fetch(`http://127.0.0.1:${port}/api/edge`)
      expect(await edge.json()).toEqual({ ...expected, body: 'edge: attempt 2' })
      const beside = project.files('.next/server').filter((name) => name.endsWith('.wasm'))
      expect(beside.map((name) => name.slice(0, 4))).toEqual(['edge', 'edge'])

      const scripts = requests.map((path) => path.replace('/_next/static/', ''))
      return weighPage(
        project,
        '.next/static',
        aroundTheFirstCall({ answer: undefined, errors, requests: scripts }),
        BUDGET,
      )
    },
  )
}
