// Chromium with a profile on the disk. A context as tests open it is off the record: its IndexedDB is in memory, waits for
// no disk, and would flatter everybody.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { chromiumPath, quiet } from '../../../tests/browser/chromium.ts'

/** A folder for a profile, gone at the end. */
export function newProfile() {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-profile-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** Leaves by way of `exit`, whose listeners end the browser and delete its profile; a signal alone would leave both. */
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** A page that does not lie in front is slowed down, and pages take turns here. */
const AWAKE = ['--disable-renderer-backgrounding', '--disable-background-timer-throttling']

/** Starts a Chromium of its own on this profile; `work` opens pages in it by their addresses. */
export async function inProfile(folder, work) {
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: chromiumPath(),
    args: [...quiet, ...AWAKE],
    timeout: 60_000,
    // Playwright would end the browser alone, and leave this process to what it was doing
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
  try {
    return await work((url) => openPage(context, url), context.browser()?.version())
  } finally {
    await context.close()
  }
}

async function openPage(context, url) {
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => console.error(error))
  await page.goto(url)
  await page.waitForFunction(() => globalThis.bench !== undefined)
  if (!(await page.evaluate(() => globalThis.crossOriginIsolated))) throw new Error('the page is not isolated')
  return page
}

/** Bytes of the files that Chromium keeps of an origin's IndexedDB, blobs included, once it has ended. */
export function bytesOnDisk(folder, url) {
  const { protocol, hostname, port } = new URL(url)
  const root = join(folder, 'Default', 'IndexedDB')
  const own = readdirSync(root).filter((name) => name.startsWith(`${protocol.slice(0, -1)}_${hostname}_${port}.`))
  const files = own.flatMap((name) => readdirSync(join(root, name), { recursive: true, withFileTypes: true }))
  return files
    .filter((file) => file.isFile())
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}
