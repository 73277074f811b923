/** The actions of the inspector over a source that does as the test says: each does what it is named, says what came of it, and asks before it deletes. */

import { describe, expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { type InspectorTab, openFake } from './inspector-page.ts'

const origin = labOrigin()
const browser = duringTests(() => launch())

const opened = (options: object = {}, properties: object = {}): Promise<InspectorTab> =>
  openFake(browser, origin, options, properties)

describe('actions', () => {
  const done = ({ page }: InspectorTab) => page.evaluate(() => stage.source.done)
  const toDead = async (tab: InspectorTab): Promise<void> => {
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('button', { name: /^dead letters/ }).click()
    await tab.page.waitForSelector('.rows .row')
  }

  test('of everything, of an origin, of a task', async () => {
    await using tab = await opened()
    for (const name of [
      'Make all due',
      'Pause all',
      'Resume all',
      'Pause https://api.example.com',
      'Resume https://mail.example.com',
    ]) {
      await tab.page.getByRole('button', { name, exact: true }).click()
    }
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('row').nth(1).click()
    await tab.page.getByRole('button', { name: 'Run now' }).click()
    await tab.says('due is done')
    await tab.page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await tab.says('cancel is done')
    await toDead(tab)
    await tab.page.getByRole('row').nth(1).click()
    await tab.page.getByRole('button', { name: 'Redrive', exact: true }).click()
    await tab.says('redrive is done')
    const [first, fourth] = await tab.page.evaluate(() => [stage.ID(0), stage.ID(4)])
    expect(await done(tab)).toEqual([
      { type: 'flush' },
      { type: 'pause' },
      { type: 'resume' },
      { type: 'pause', origin: 'https://api.example.com' },
      { type: 'resume', origin: 'https://mail.example.com' },
      { type: 'due', taskId: first },
      { type: 'cancel', taskId: first },
      { type: 'redrive', taskId: fourth },
    ])
  })

  test('one that fails says so beside its button, and the next try takes that away', async () => {
    await using tab = await opened()
    await tab.says('live')
    await tab.page.evaluate(() => void Object.assign(stage.source, { failAct: new Error('the store is full') }))
    await tab.page.getByRole('button', { name: 'Pause https://api.example.com' }).click()
    const row = tab.page.getByRole('row', { name: /api\.example\.com/ })
    await expect.poll(() => row.getByRole('alert').innerText()).toBe('the store is full')
    await tab.page.evaluate(() => void Object.assign(stage.source, { failAct: undefined }))
    await tab.page.getByRole('button', { name: 'Pause https://api.example.com' }).click()
    await expect.poll(() => row.innerText()).toContain('pause is done')
    expect(await row.getByRole('alert').count()).toBe(0)
  })

  test('a key that may be forgotten: it is put back only by one who accepts that', async () => {
    await using tab = await opened()
    await toDead(tab)
    await tab.page.evaluate(() => {
      stage.source.failAct = new stage.InspectorError('its key is too old', { isKeyExpired: true })
    })
    await tab.page.getByRole('row').nth(1).click()
    await tab.page.getByRole('button', { name: 'Redrive', exact: true }).click()
    await tab.says('its key is too old')
    await tab.page.evaluate(() => void Object.assign(stage.source, { failAct: undefined }))
    await tab.page.getByRole('button', { name: 'Redrive all the same' }).click()
    await tab.says('redrive is done')
    expect(await done(tab)).toMatchObject([{ type: 'redrive', acceptDuplicateRisk: true }])
  })

  test('one is deleted with a second button; Escape and the first button keep it', async () => {
    await using tab = await opened()
    await toDead(tab)
    await tab.page.getByRole('row').nth(1).click()
    const ask = tab.page.getByRole('button', { name: 'Delete…' })
    const dialog = tab.page.getByRole('dialog')
    await ask.click()
    expect(await dialog.innerText()).toContain('Delete 1 dead letter?')
    await tab.page.keyboard.press('Escape')
    expect(await dialog.count()).toBe(0)
    const focused = () => tab.page.evaluate(() => stage.element.shadowRoot?.activeElement?.textContent?.trim())
    expect(await focused()).toBe('Delete…')
    expect(await tab.page.getByRole('region', { name: 'Task' }).count()).toBe(1)
    await ask.click()
    await tab.page.keyboard.press('Enter') // the first button has the focus
    expect(await dialog.count()).toBe(0)
    expect(await done(tab)).toEqual([])
    await ask.click()
    await dialog.getByRole('button', { name: 'Delete it' }).click()
    await tab.says('purge is done')
    expect(await done(tab)).toEqual([{ type: 'purge', taskId: await tab.page.evaluate(() => stage.ID(4)) }])
  })

  test('all are deleted once their number is typed, and not before', async () => {
    await using tab = await opened()
    await toDead(tab)
    await tab.page.getByRole('button', { name: 'Delete all…' }).click()
    const dialog = tab.page.getByRole('dialog', { name: 'Delete 10 dead letters?' })
    const confirm = dialog.getByRole('button', { name: 'Delete 10' })
    await confirm.click()
    await dialog.getByLabel('Type 10 to confirm').fill('11')
    await confirm.click()
    expect(await done(tab)).toEqual([])
    await dialog.getByLabel('Type 10 to confirm').fill('10')
    await tab.page.keyboard.press('Enter')
    await tab.says('purgeAll is done')
    expect(await done(tab)).toEqual([{ type: 'purgeAll', count: 10 }])
  })

  test('all are put back at a rate, with progress, until that is stopped', async () => {
    await using tab = await opened()
    await toDead(tab)
    await tab.page.evaluate(() => void Object.assign(stage.source, { pace: 60_000 }))
    await tab.page.getByRole('button', { name: 'Redrive all…' }).click()
    await tab.page.getByLabel('a second').fill('2.5')
    await tab.page.getByLabel('Also those whose key').check()
    await tab.page.getByRole('button', { name: 'Redrive 10' }).click()
    await tab.says('0 of 10 redriven')
    expect(await tab.page.getByRole('progressbar').getAttribute('max')).toBe('10')
    expect(await done(tab)).toEqual([{ type: 'redriveAll', perSecond: 2.5, acceptDuplicateRisk: true }])
  })

  test('stopped, it says what has become of it', async () => {
    await using tab = await opened()
    await toDead(tab)
    await tab.page.evaluate(() => void Object.assign(stage.source, { pace: 200 }))
    await tab.page.getByRole('button', { name: 'Redrive all…' }).click()
    await tab.page.getByLabel('a second').fill('')
    await tab.page.getByRole('button', { name: 'Redrive 10' }).click()
    await tab.page.getByRole('button', { name: 'Stop', exact: true }).click()
    await tab.says('stopped')
    expect(await done(tab)).toEqual([{ type: 'redriveAll', acceptDuplicateRisk: false }])
  })

  test('what a source lacks has no button; what it refuses has one that says why and does nothing', async () => {
    await using tab = await opened({ can: { cancel: true, flush: "this needs the scope 'admin'" } })
    await tab.says("Not allowed: this needs the scope 'admin'")
    const flush = tab.page.getByRole('button', { name: 'Make all due' })
    expect(await flush.getAttribute('aria-disabled')).toBe('true')
    await flush.click({ force: true })
    expect(await tab.page.getByRole('button', { name: /Pause|Resume/ }).count()).toBe(0)
    expect(await done(tab)).toEqual([])
  })

  test('read-only there are none', async () => {
    await using tab = await opened({}, { readonly: true })
    await tab.says('read-only')
    const buttons = async () => (await tab.page.getByRole('button').allInnerTexts()).map((name) => name.trim())
    expect(new Set(await buttons())).toEqual(new Set(['Tasks']))
    await toDead(tab)
    await tab.page.getByRole('row').nth(1).click()
    await tab.says('Why it is where it is')
    expect((await buttons()).filter((name) => /redrive|delete|cancel|run|pause/i.test(name))).toEqual(['cancelled'])
  })
})
