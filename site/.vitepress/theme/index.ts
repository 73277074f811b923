// VitePress's own theme without its fonts, in the colours of the plots, with the parts that our pages have.
import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import HomeDemo from './home/HomeDemo.vue'
import HomePage from './home/HomePage.vue'
import LabCurve from './lab/LabCurve.vue'
import LiveCalls from './live/LiveCalls.vue'
import './colours.css'
import './code.css'
import './pages.css'
import './home/home.css'
import './home/demo.css'
import './live/live.css'

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('HomePage', HomePage)
    app.component('HomeDemo', HomeDemo)
    app.component('LabCurve', LabCurve)
    app.component('LiveCalls', LiveCalls)
  },
}
export default theme
