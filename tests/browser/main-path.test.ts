/** In each engine of this size. WebKit has a suite of its own: tests/webkit/. */
import { engines } from './engines.ts'
import { mainPath } from './main-path.ts'

for (const [name, launch] of engines) mainPath(name, launch)
