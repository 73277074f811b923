/** Chromium and Firefox side by side. WebKit has a suite of its own: tests/webkit/. */
import { chromium, firefox } from './engines.ts'
import { mainPath } from './main-path.ts'

mainPath('Chromium', chromium)
mainPath('Firefox', firefox)
