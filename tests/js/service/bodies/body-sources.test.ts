// Which body a tenant may name where, before a bucket is asked. With real buckets: tests/bodies/sources.slow.test.ts.
import { describe, expect, test } from 'vitest'
import { BodySources, checkBodySources } from '../../../../js/service/bodies/body-sources.ts'
import { fakeClock } from '../../../../js/testing/clock.ts'

const sources = (given: ConstructorParameters<typeof BodySources>[0]) =>
  new BodySources(given, { clock: fakeClock(), maxBytes: 1_000, env: {} })

describe('settings', () => {
  test.each<[string, unknown, string]>([
    ['a list', [], 'bodySources: expected an object with an entry for each name'],
    ['no bucket', { 's3://B/x': {} }, "bodySources: 's3://B/x': write s3:// and the name of a bucket"],
    ['another scheme', { 'https://a/b': {} }, 'write s3:// and the name of a bucket'],
    ['a strange parameter', { 's3://bodies/x?acl=public': {} }, 'no such parameter: acl'],
    ['a strange key', { 's3://bodies/x': { tenant: 'acme' } }, "bodySources['s3://bodies/x'].tenant: no such key"],
    ['a tenant that is none', { 's3://bodies/x': { tenants: [''] } }, 'expected a list of tenants'],
  ])('%s is refused, and told why', (_, given, why) => {
    expect(() => checkBodySources(given as never)).toThrow(why)
  })

  test('a mistake in a reload changes nothing', () => {
    const own = sources({ 's3://bodies/a': {} })
    expect(() => own.changed({ 's3://B': {} })).toThrow(TypeError)
    const set = own.changed({ 's3://bodies/b': {} })
    expect(own.refuse('s3://bodies/a/1', null)).toBeUndefined()
    set()
    expect([own.refuse('s3://bodies/a/1', null), own.refuse('s3://bodies/b/1', null)]).toEqual([
      'there is no such place of bodies for this tenant',
      undefined,
    ])
  })
})

describe('a tenant', () => {
  const own = sources({
    's3://bodies/acme': { tenants: ['acme', 'umbrella'] },
    's3://bodies/all/': { tenants: '*' },
    's3://whole': {},
  })

  test.each([
    ['acme', 's3://bodies/acme/a'],
    ['umbrella', 's3://bodies/acme/a/b c/ü'],
    ['other', 's3://bodies/all/a'],
    [null, 's3://bodies/all/a'],
    [null, 's3://whole/anything'],
    [null, 's3://whole/..a/.b'],
  ])('%s may name %s', (tenant, ref) => {
    expect(own.refuse(ref, tenant)).toBeUndefined()
  })

  test.each([
    ['other', 's3://bodies/acme/a'],
    [null, 's3://bodies/acme/a'],
    ['acme', 's3://bodies/acme'],
    ['acme', 's3://bodies/acme/'],
    ['acme', 's3://bodies/acme-2/a'],
    ['acme', 's3://bodies/acme/../secret'],
    ['acme', 's3://bodies/acme//a'],
    ['acme', 's3://bodies/acme/a\0b'],
    ['acme', 's3://bodies/acme/\ud800'],
    ['acme', 's3://whole/a'],
    ['acme', 'S3://bodies/acme/a'],
    [null, 's3://unknown/a'],
    [null, ''],
  ])('%s may not name %j', async (tenant, ref) => {
    expect(own.refuse(ref, tenant)).toBeDefined()
    expect(await own.find(ref, tenant)).toBeUndefined()
  })
})
