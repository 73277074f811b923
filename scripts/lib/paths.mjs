// The places of folders and programs. Only `node:` imports: this runs before any package is installed.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/[\\/]$/, '')
export const at = (...parts) => join(root, ...parts)

/** A program that npm installed, as a script for this very node: `bin` links may be missing on Windows shares. */
export const packageBin = (name, file) => at('node_modules', name, file)

export const wasmTarget = 'wasm32-unknown-unknown'
/** Apart from native builds: the fallback toolchain is another rustc, and the two would delete each other's output. */
export const wasmTargetDir = at('target', 'wasm')
export const toolsTargetDir = at('target', 'tools')
export const generated = at('js', 'core', 'generated')
/**
 * The modules: one that every queue runs on, one for content keys and canonical JSON, and one for the lab of `@redrive/ui`. Each is
 * its crate with the feature `<name>-module`.
 */
export const moduleCrates = { queue: 'redrive', keys: 'redrive', lab: 'sim' }
export const wasmModules = Object.keys(moduleCrates)
