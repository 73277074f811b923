/** Names of gRPC methods, as users write them: 'shop.Orders/Create', or 'shop.Orders' for all of a service. */

import { pattern, type Rule } from '../../options/check.ts'

/** A method in a service config. */
export interface MethodName {
  readonly service: string
  readonly method?: string
}

export const METHOD: Rule = pattern(
  "a method such as 'shop.Orders/Create', or a service such as 'shop.Orders'",
  /^\/?\w+(\.\w+)*(\/\w+)?$/,
)

/** The path of a call begins with a slash, which is taken from users too. */
export function methodOf(name: string): MethodName {
  const [service = '', method] = name.replace(/^\//, '').split('/')
  return method === undefined ? { service } : { service, method }
}
