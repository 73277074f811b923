/** The address of a bucket: `s3://bucket/prefix?endpoint=https://…&region=…&style=path`. */

export interface S3Place {
  readonly bucket: string
  /** '' or text that ends with a slash. */
  readonly prefix: string
  /** Scheme and authority of requests, the bucket's own name included where it is part of that. */
  readonly origin: string
  /** Begins the path of each request: '' or `/bucket`. */
  readonly base: string
  readonly region: string
}

/** AWS' rules for names of buckets that are made today. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** No part of it is `.` or `..`, which a URL has no names for. */
const PREFIX = /^(?!(?:.*\/)?\.\.?(?:\/|$))(?:[\w!.*'()-]+(?:\/[\w!.*'()-]+)*\/?)?$/
const PARAMETERS = ['endpoint', 'region', 'style']

/** @throws TypeError that says what is wrong */
export function s3Place(text: string, env: Readonly<Record<string, string | undefined>>): S3Place {
  const wrong = (why: string): TypeError => new TypeError(`'${text}': ${why}`)
  const [, bucket = '', prefix = '', query = ''] = /^s3:\/\/([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text) ?? []
  if (!BUCKET.test(bucket)) throw wrong('write s3:// and the name of a bucket, then a slash and a prefix if you like')
  if (!PREFIX.test(prefix)) throw wrong('a prefix has letters, digits and slashes')
  const given = new URLSearchParams(query)
  const strange = [...given.keys()].find((name) => !PARAMETERS.includes(name))
  if (strange !== undefined) throw wrong(`no such parameter: ${strange}; there are ${PARAMETERS.join(', ')}`)
  const region = given.get('region') ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1'
  if (!/^[\w-]{1,64}$/.test(region)) throw wrong(`'${region}' is no name of a region, such as eu-central-1`)
  const endpoint = originIn(given.get('endpoint') ?? `https://s3.${region}.amazonaws.com`)
  if (!endpoint) throw wrong('its endpoint is no origin of a server, such as https://s3.example.com')
  // a name with dots fits no certificate for all names of a level
  const style = given.get('style') ?? (given.has('endpoint') || bucket.includes('.') ? 'path' : 'virtual')
  if (style !== 'path' && style !== 'virtual') throw wrong('its style is neither path nor virtual')
  const { protocol, host } = endpoint
  const isPath = style === 'path'
  return {
    bucket,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    origin: isPath ? endpoint.origin : `${protocol}//${bucket}.${host}`,
    base: isPath ? `/${bucket}` : '',
    region,
  }
}

function originIn(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBare = url && url.pathname === '/' && url.search === '' && url.username === '' && url.password === ''
  return isBare && /^https?:$/.test(url.protocol) ? url : undefined
}
