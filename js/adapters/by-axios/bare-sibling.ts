/** The instance that attempts go through: interceptors, transforms and defaults have had their turn when the adapter is called. */

import type { AxiosInstance } from 'axios'

/** An instance without interceptors or defaults: the call's config is whole, and what the caller took out of it stays out. */
export function bareSibling(instance: AxiosInstance): AxiosInstance {
  const bare = instance.create()
  // emptied, not replaced: its requests read this very object
  for (const name of Object.keys(bare.defaults)) delete bare.defaults[name as keyof typeof bare.defaults]
  return bare
}
