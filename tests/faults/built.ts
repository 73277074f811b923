/** The package as users get it, not its sources; and the file that all share. */

import { join } from 'node:path'

type Index = typeof import('../../js/index.ts')
type Sqlite = typeof import('../../js/stores/sqlite.ts')

export async function builtPackage(): Promise<Index & Sqlite> {
  const part = (name: string) => import(new URL(`../../pkg/${name}.js`, import.meta.url).href)
  const [index, sqlite] = await Promise.all([part('index'), part('sqlite')])
  return { ...index, ...sqlite }
}

export const storeFile = (folder: string): string => join(folder, 'tasks.db')
