import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { profileIn, s3Credentials } from '../../../../js/service/bodies/s3-credentials.ts'
import { s3Place } from '../../../../js/service/bodies/s3-url.ts'
import { Secrets } from '../../../../js/service/secrets.ts'
import { fakeClock } from '../../../../js/testing.ts'
import { folder } from '../program.ts'

describe('an address', () => {
  test.each([
    ['s3://bodies', { origin: 'https://bodies.s3.us-east-1.amazonaws.com', base: '', prefix: '', region: 'us-east-1' }],
    [
      's3://bodies/of/redrive?region=eu-central-1',
      {
        origin: 'https://bodies.s3.eu-central-1.amazonaws.com',
        base: '',
        prefix: 'of/redrive/',
        region: 'eu-central-1',
      },
    ],
    ['s3://bodies/of/?style=path', { origin: 'https://s3.us-east-1.amazonaws.com', base: '/bodies', prefix: 'of/' }],
    // no certificate for all names of a level fits two levels
    ['s3://bodies.example.com', { origin: 'https://s3.us-east-1.amazonaws.com', base: '/bodies.example.com' }],
    [
      's3://bodies?endpoint=http://127.0.0.1:9000',
      { origin: 'http://127.0.0.1:9000', base: '/bodies', region: 'us-east-1' },
    ],
    [
      's3://bodies?endpoint=https://s3.example.com&style=virtual&region=auto',
      { origin: 'https://bodies.s3.example.com', base: '', region: 'auto' },
    ],
  ])('%s is read', (text, place) => {
    expect(s3Place(text, {})).toMatchObject(place)
  })

  test('without a region has that of the environment', () => {
    expect(s3Place('s3://bodies', { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'x' }).region).toBe('eu-west-1')
    expect(s3Place('s3://bodies', { AWS_DEFAULT_REGION: 'eu-west-2' }).region).toBe('eu-west-2')
  })

  test.each([
    ['s3://', /the name of a bucket/],
    ['s3://A', /the name of a bucket/],
    ['s3:bodies', /the name of a bucket/],
    ['s3://key:secret@bodies', /the name of a bucket/],
    ['s3://bodies/a b', /a prefix has letters/],
    ['s3://bodies/../x', /a prefix has letters/],
    ['s3://bodies//x', /a prefix has letters/],
    ['s3://bodies?endpont=x', /no such parameter: endpont/],
    ['s3://bodies?endpoint=s3.example.com', /its endpoint is no origin/],
    ['s3://bodies?endpoint=https://a:b@s3.example.com', /its endpoint is no origin/],
    ['s3://bodies?endpoint=https://s3.example.com/x', /its endpoint is no origin/],
    ['s3://bodies?region=a/b', /no name of a region/],
    ['s3://bodies?style=both', /neither path nor virtual/],
  ])('%s is none', (text, message) => {
    expect(() => s3Place(text, {})).toThrow(message)
  })
})

const INI = `
; of tools of AWS
[default]
aws_access_key_id = AKIA1
aws_secret_access_key=secret/1+x=
[ other ]
aws_access_key_id = AKIA2
aws_secret_access_key = secret2
aws_session_token = token2
[empty]
region = eu-west-1
`

describe('credentials', () => {
  test('of a profile are those below its name', () => {
    expect(profileIn(INI, 'default')).toEqual({ accessKeyId: 'AKIA1', secretAccessKey: 'secret/1+x=' })
    const other = { accessKeyId: 'AKIA2', secretAccessKey: 'secret2', sessionToken: 'token2' }
    expect(profileIn(INI, 'other')).toEqual(other)
    expect(profileIn(INI, 'empty')).toBeUndefined()
    expect(profileIn(INI, 'none')).toBeUndefined()
  })

  test('are the environment’s before those of the file, which is read again when it has changed', async () => {
    const cwd = folder({ credentials: INI })
    const path = join(cwd, 'credentials')
    const secrets = new Secrets({ clock: fakeClock(), cwd })
    const env = { AWS_SHARED_CREDENTIALS_FILE: path, AWS_PROFILE: 'other' }
    const own = { AWS_ACCESS_KEY_ID: 'AKIA3', AWS_SECRET_ACCESS_KEY: 'secret3', AWS_SESSION_TOKEN: 'token3' }
    const read = { accessKeyId: 'AKIA3', secretAccessKey: 'secret3', sessionToken: 'token3' }
    expect(await s3Credentials({ ...env, ...own }, secrets)).toEqual(read)
    expect(await s3Credentials(env, secrets)).toMatchObject({ accessKeyId: 'AKIA2' })
    writeFileSync(path, INI.replace('AKIA2', 'AKIA-longer'))
    expect(await s3Credentials(env, secrets)).toMatchObject({ accessKeyId: 'AKIA-longer' })
  })

  test('that are nowhere are told by where they were to be', async () => {
    const cwd = folder({ credentials: INI })
    const secrets = new Secrets({ clock: fakeClock(), cwd })
    for (const [file, says] of [
      ['credentials', /credentials: the profile 'empty' has no aws_access_key_id/],
      ['none', /none: ENOENT/],
    ] as const) {
      const env = { AWS_SHARED_CREDENTIALS_FILE: join(cwd, file), AWS_PROFILE: 'empty' }
      await expect(s3Credentials(env, secrets)).rejects.toThrow(says)
    }
  })
})
