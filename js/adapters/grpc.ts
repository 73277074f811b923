/**
 * gRPC, as far as it can be served honestly: one idempotency key for each call of `@grpc/grpc-js`, and a policy in the words of its
 * service config. grpc-js sends the calls and tries them again itself. There are no tasks of gRPC: a stored call would need the bytes of its
 * method, HTTP/2 and trailers in every runtime. Durable calls go by the Connect protocol, whose unary call is a POST.
 *
 * Nothing of grpc-js is imported at run time.
 */

import type { InterceptingCall, Interceptor, Metadata } from '@grpc/grpc-js'
import { check, list, pattern, type Rules } from '../options/check.ts'
import { KEY_HEADER } from '../options/idempotency.ts'
import { hostDraw, uuid4 } from '../platform/random.ts'
import { METHOD, methodOf } from './grpc/methods.ts'

export {
  type MethodName,
  type RetryPolicyA6,
  type ServiceConfig,
  type ServiceConfigOptions,
  serviceConfig,
} from './grpc/service-config.ts'
export { UnsupportedPolicyError } from './grpc/unsupported.ts'

export interface KeyInterceptorOptions {
  /** The name of the key in the metadata: lower case, and not of the binary kind, which ends in `-bin`. @default 'idempotency-key' */
  readonly header?: string
  /**
   * The methods that get a key, as 'shop.Orders/Create', or 'shop.Orders' for all of a service. Server-streaming and bidirectional ones never
   * do. @default all
   */
  readonly methods?: readonly string[]
}

/** gRPC has the same header in its metadata, where names are in lower case. */
const HEADER = KEY_HEADER.toLowerCase()
const RULES: Rules<KeyInterceptorOptions> = {
  header: pattern("a name of text metadata such as 'idempotency-key'", /^(?!grpc-)(?!.*-bin$)[0-9a-z_.-]+$/),
  methods: list(METHOD),
}

/**
 * An interceptor that gives each unary and client-streaming call a key, before grpc-js makes its first attempt: all its attempts,
 * transparent retries included, carry the same one. A key that is in the metadata already stays, and the caller's own metadata is left as it is.
 */
export function keyInterceptor(options: KeyInterceptorOptions = {}): Interceptor {
  check('keyInterceptor', options, RULES)
  const { header = HEADER, methods } = options
  const wanted = methods?.map(methodOf)
  const draw = hostDraw()
  return (call, next) => {
    const sent = next(call)
    const { path, responseStream } = call.method_definition
    const { service, method } = methodOf(path)
    const isWanted = (each: { readonly service: string; readonly method?: string }) =>
      each.service === service && (each.method ?? method) === method
    if (!responseStream && (!wanted || wanted.some(isWanted))) {
      // the call is this one's alone, and what retries it is below it
      const start = sent.start.bind(sent)
      sent.start = (metadata, listener) => {
        start(keyIn(metadata, header) === null ? withKey(metadata, header, uuid4(draw)) : metadata, listener)
      }
    }
    return sent as InterceptingCall
  }
}

/** The key of a call, on its server; null: it has none. */
export function keyOf(call: { readonly metadata: Metadata }, header: string = HEADER): string | null {
  return keyIn(call.metadata, header)
}

/** Several values are one, as they are in HTTP: no attempt of the call has others. */
const keyIn = (metadata: Metadata, header: string): string | null => metadata.get(header).join(', ') || null

/** A copy: a caller may use one object of metadata for all its calls. */
function withKey(metadata: Metadata, header: string, key: string): Metadata {
  const own = metadata.clone()
  own.set(header, key)
  return own
}
