// The inspector's scenes: a real queue against answers that fail on purpose, long enough that there is something to see.

const inspector = '<redrive-inspector></redrive-inspector>'

/** Runs in the page: a queue whose calls fail as their address says, and what has become of them. */
async function fill({ isEmpty, isMounted }) {
  const { RetryQueue } = await import('/pkg/index.js')
  const seen = new Map()
  const queue = new RetryQueue({
    name: 'shop',
    warn: false,
    policy: { strategy: 'exponential', initialDelayMs: 300, multiplier: 2, jitterType: 'NONE', maxAttempts: 6 },
    idempotency: { origins: ['https://api.example.com', 'https://billing.example.com', 'https://mail.example.com'] },
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const before = seen.get(pathname) ?? 0
      seen.set(pathname, before + 1)
      const [, kind] = pathname.split('/')
      // every fifth order meets a busy moment; a breaker would take more of them for an outage
      const isOk = kind === 'ok' && (before > 0 || !/[05]$/.test(pathname))
      const status = isOk ? 200 : 503
      const headers = kind === 'busy' && before > 0 ? { 'retry-after': '120' } : {}
      return new Response('', { status, headers })
    },
  })
  if (isMounted) (await import('/ui/ui.js')).mountInspector(queue, { open: true })
  else document.querySelector('redrive-inspector').queue = queue
  if (isEmpty) return
  const send = (path, policy) =>
    queue.enqueue(path, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
      redrive: { policy, tags: ['orders'] },
    })
  for (let i = 0; i < 14; i += 1) await send(`https://api.example.com/ok/orders/${1_001 + i}`)
  for (let i = 0; i < 9; i += 1) await send(`https://billing.example.com/busy/invoices/${401 + i}`)
  for (let i = 0; i < 5; i += 1) await send(`https://mail.example.com/gone/letters/${71 + i}`, { maxAttempts: 1 })
  const isReady = () => {
    const { succeeded, deadLetters } = queue.stats()
    return succeeded >= 14 && deadLetters >= 5 && [...seen].some(([path, count]) => path.includes('busy') && count > 1)
  }
  for (let i = 0; !isReady(); i += 1) {
    if (i > 300) throw new Error(`after 15 s: ${JSON.stringify(queue.stats())}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  globalThis.more = async (count) => {
    for (let i = 0; i < count; i += 1) await send(`https://api.example.com/ok/orders/${2_000 + seen.size}`)
  }
}

const filled = async (page, given = {}) => {
  await page.evaluate(fill, given)
  await page.getByText('https://mail.example.com').first().waitFor()
}
/** Two minutes with more calls, on a clock of the scene's own. */
const lived = async (page, given) => {
  await filled(page, given)
  for (const count of [3, 9, 14, 0, 6, 11, 2, 8, 5, 12, 4, 7]) {
    await page.evaluate((count) => globalThis.more(count), count)
    await page.clock.runFor(10_000)
  }
}
const tab = (page, name) => page.getByRole('tab', { name }).click()

export const inspectorScenes = [
  { name: 'inspector-overview', body: inspector, isClockOurs: true, ready: lived },
  {
    name: 'inspector-panel',
    body: '<p>The page of a shop.</p>',
    isClockOurs: true,
    ready: (page) => lived(page, { isMounted: true }),
  },
  {
    name: 'inspector-events',
    body: inspector,
    ready: async (page) => {
      await filled(page)
      await tab(page, /^Events/)
      await page.getByText('attempt 2').first().waitFor()
    },
  },
  {
    name: 'inspector-tasks',
    body: inspector,
    ready: async (page) => {
      await filled(page)
      await tab(page, /^Tasks/)
      await page.getByText('invoices').first().waitFor()
    },
  },
  {
    name: 'inspector-task',
    body: inspector,
    ready: async (page) => {
      await filled(page)
      await tab(page, /^Tasks/)
      await page.getByText('/busy/invoices/401').first().click()
      await page
        .getByText(/Retry-After/)
        .first()
        .waitFor()
    },
  },
  ...['redrive', 'delete'].map((act) => ({
    name: `inspector-${act}`,
    body: inspector,
    ready: async (page) => {
      await filled(page)
      await tab(page, /^Tasks/)
      await page.getByRole('button', { name: /^dead letters/ }).click()
      await page.getByRole('button', { name: new RegExp(`^${act} all`, 'i') }).click()
      await page.getByRole('dialog').waitFor()
    },
  })),
  {
    name: 'inspector-empty',
    body: inspector,
    ready: async (page) => {
      await page.evaluate(fill, { isEmpty: true })
      await tab(page, /^Tasks/)
      await page.getByText('No task here').waitFor()
    },
  },
  {
    name: 'inspector-failed',
    body: '<redrive-inspector src="https://127.0.0.1:9"></redrive-inspector>',
    ready: (page) =>
      page
        .getByText(/127\.0\.0\.1/)
        .first()
        .waitFor(),
  },
]
