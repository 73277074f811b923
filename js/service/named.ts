/** Things that tasks ask for by a name, and that an operator allows to some tenants: credentials and signing keys. */

import { show } from 'redrive/internal'

/** null stands for tasks of no tenant, '*' for all tenants and none. */
export type TenantList = readonly (string | null)[] | '*'

/** A name that a task may use. */
export const NAME_SHAPE: RegExp = /^[\w.-]{1,64}$/

export const isNamed = (tenant: string | null, tenants: TenantList): boolean =>
  tenants === '*' || tenants.includes(tenant)

/** The names in an option. @throws TypeError where it is no object of objects, or a name is none */
export function namesOf(given: unknown, option: string, shape: RegExp = NAME_SHAPE): readonly string[] {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(given)) throw new TypeError(`${option}: expected an object with an entry for each name`)
  const names = Object.keys(given as object)
  for (const name of names) {
    if (!shape.test(name)) {
      const words = shape === NAME_SHAPE ? "1 to 64 letters, digits, '.', '_' and '-'" : '1 to 255 visible characters'
      throw new TypeError(`${option}: expected names of ${words}, got ${show(name)}`)
    }
    if (!isObject((given as Readonly<Record<string, unknown>>)[name])) {
      throw new TypeError(`${option}.${name}: expected an object`)
    }
  }
  return names
}

/** @throws TypeError with what was expected */
export function tenantsOf(given: unknown, at: string): TenantList {
  if (given === undefined) return [null]
  if (given === '*') return given
  if (
    Array.isArray(given) &&
    given.every((tenant) => tenant === null || (typeof tenant === 'string' && tenant !== ''))
  ) {
    return given
  }
  throw new TypeError(`${at}.tenants: expected a list of tenants (null for none), or "*" for all of them`)
}
