/** The main path in WebKit, which is what Safari is made of; not Safari itself, which runs on no machine of these tests. */
import { mainPath } from '../browser/main-path.ts'
import { launchWebKit } from './webdriver.ts'

mainPath('WebKit', launchWebKit)
