/** A page themes the elements by their custom properties, whatever names its own have. */

import { expect, test } from 'vitest'
import { THEME } from '../../../js/ui/base/theme-names.ts'
import { duringTests } from '../../during.ts'
import { launch } from '../chromium.ts'
import { uiServer } from './ui-page.ts'

const browser = duringTests(() => launch())
const server = duringTests(() => uiServer('<redrive-curve></redrive-curve>'))

const COLOURS = Object.keys(THEME).filter((name) => !/font|mono|radius/.test(name))

test.each(COLOURS)('%s may come from a property of the page with the same last word', async (name) => {
  const page = await browser.newPage()
  await page.goto(server.url)
  await page.locator('redrive-curve figcaption').waitFor()
  const word = name.replace('--redrive-', '')
  const used = await page.evaluate(
    ([name, word]) => {
      document.styleSheets[0]?.insertRule(`:root { --${word}: rgb(1, 2, 3) }`)
      document.styleSheets[0]?.insertRule(`redrive-curve { ${name}: var(--${word}) }`)
      const sheets = document.querySelector('redrive-curve')?.shadowRoot?.adoptedStyleSheets ?? []
      const rules = sheets.flatMap((sheet) => [...sheet.cssRules].map(({ cssText }) => cssText)).join('\n')
      const [, own] = new RegExp(`(--[\\w-]+): var\\(${name},`).exec(rules) ?? []
      const probe = document.createElement('i')
      document.querySelector('redrive-curve')?.shadowRoot?.append(probe)
      probe.style.color = `var(${own})`
      return { own, colour: getComputedStyle(probe).color }
    },
    [name, word] as const,
  )
  expect(used).toEqual({ own: expect.stringMatching(/^--/), colour: 'rgb(1, 2, 3)' })
  await page.close()
})
