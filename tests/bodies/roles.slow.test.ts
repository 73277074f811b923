// Credentials of roles, as the SDK of AWS finds them: of a pod's web identity, and of the instance that the service runs on.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, json, post, start } from '../js/service/program.ts'
import { onLoopback } from '../loopback.ts'
import { faultyProxy } from './faulty-proxy.ts'
import { BUCKET, KEY, type S3Server, startMoto, startS3sFs } from './servers.ts'
import { target } from './target.ts'

const LARGE = 'x'.repeat(300_000)

/** A service whose home has no file of credentials. */
async function deliver({ url }: Pick<S3Server, 'url'>, cwd: string, env: Readonly<Record<string, string>>) {
  const proxy = await faultyProxy(url)
  const { url: targetUrl, heard } = await target()
  const args = ['--bodies', `s3://${BUCKET}/tasks?endpoint=${proxy.url}`]
  const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '', AWS_PROFILE: '' }
  const service = await start(args, cwd, { ...none, HOME: cwd, AWS_REGION: 'us-east-1', ...env })
  const answer = await post(`${service.url}/retry-tasks`, { targetUrl, body: LARGE })
  const said = await json(answer)
  if (answer.status === 201) {
    const path = `${service.url}/retry-tasks/${said.taskId}`
    expect(await json(await fetch(path, { headers: { prefer: 'wait=30' } }))).toMatchObject({ status: 'SUCCEEDED' })
    expect(heard).toMatchObject([{ bytes: LARGE.length, isWhole: true }])
  }
  return { status: answer.status, said, lines: service.lines, sessions: proxy.passed.map(({ session }) => session) }
}

test('those of a web identity are exchanged for a session, which signs', async () => {
  const moto = await startMoto()
  const cwd = folder({ 'web-identity.txt': 'a token of the cluster' })
  const { status, sessions } = await deliver(moto, cwd, {
    AWS_WEB_IDENTITY_TOKEN_FILE: join(cwd, 'web-identity.txt'),
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/redrive',
    AWS_ENDPOINT_URL_STS: moto.url,
    AWS_EC2_METADATA_DISABLED: 'true',
  })
  expect(status).toBe(201)
  expect(sessions.length).toBeGreaterThanOrEqual(2)
  expect(sessions.every((session) => session !== undefined && session.length > 20)).toBe(true)
})

test('those of an instance are asked for by its metadata service, once, and sign', async () => {
  const asked: string[] = []
  const metadata = await onLoopback((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const isToken = request.method === 'PUT' && request.url === '/latest/api/token'
    const isKnown = isToken || request.headers['x-aws-ec2-metadata-token'] === 'a token of the instance'
    if (!isKnown) response.writeHead(401).end()
    else if (isToken) response.end('a token of the instance')
    else if (request.url?.endsWith('/security-credentials/')) response.end('redrive')
    else {
      const { AWS_ACCESS_KEY_ID: AccessKeyId, AWS_SECRET_ACCESS_KEY: SecretAccessKey } = KEY
      const Expiration = new Date(Date.now() + 6 * 3_600_000).toISOString()
      response.end(JSON.stringify({ Code: 'Success', AccessKeyId, SecretAccessKey, Token: 'a session', Expiration }))
    }
  })
  // this one verifies signatures
  const { status, sessions } = await deliver(await startS3sFs(), folder(), {
    AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata,
  })
  expect(status).toBe(201)
  expect(new Set(sessions)).toEqual(new Set(['a session']))
  expect(asked.filter((each) => each.startsWith('PUT'))).toHaveLength(1)
})

test('where there are none, the caller hears of no place, and the log says what was tried', async () => {
  const { status, said, lines } = await deliver(await startS3sFs(), folder(), { AWS_EC2_METADATA_DISABLED: 'true' })
  expect([status, said.type]).toEqual([503, 'urn:redrive:problem:store-unavailable'])
  expect(JSON.stringify(said)).not.toMatch(/aws|credentials/i)
  const failed = lines.find(({ event }) => event === 'bodies_failed')
  expect(failed?.message).toMatch(
    /AWS: no AWS_ACCESS_KEY_ID; file:.*credentials: ENOENT.*; and no role: CredentialsProviderError/,
  )
})
