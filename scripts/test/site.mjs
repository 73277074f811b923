// The suite of the site, and in its summary what the home page weighs.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { vitest } from './suites.mjs'

const measured = at('target', 'test', 'site.txt')

/**
 * @param {readonly string[]} args
 * @param {import('./suites.mjs').Size} size
 * @returns {Promise<import('./suites.mjs').Result>}
 */
export async function site(args, size) {
  rmSync(measured, { force: true })
  const result = await vitest(['site'], args, size)
  const lines = existsSync(measured) ? [readFileSync(measured, 'utf8').trimEnd()] : []
  return { ...result, summary: [...result.summary, ...lines] }
}
