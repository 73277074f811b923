// What the compiler cannot find by itself: components, and the elements of the lab.
declare module '*.vue' {
  import type { DefineComponent } from 'vue'

  const component: DefineComponent
  export default component
}

/** Imported for what it defines: `<redrive-curve>` and `<redrive-inspector>`. */
declare module '@redrive/ui'
