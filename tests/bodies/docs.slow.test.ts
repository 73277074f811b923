// The settings of a bucket in docs/service-sending.md, given to a server that reads them as AWS does.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../js/platform/clock.ts'
import { s3Bucket } from '../../js/service/bodies/s3-bucket.ts'
import { s3Tools } from '../../scripts/setup/s3.mjs'
import { tokenFor } from '../js/service/api/setup.ts'
import { folder, json, post, start } from '../js/service/program.ts'
import { BUCKET, startMoto } from './servers.ts'
import { target } from './target.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'service-sending.md'), 'utf8')

function block(word: string): string {
  const found = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
    code.includes(word) && !code.includes('"sha256"') ? code : [],
  )
  expect(found).toHaveLength(1)
  return found[0] ?? ''
}

/** Runs Python with the SDK of AWS, as its command line does; gives what it prints, as JSON. */
function python(url: string, code: string, input: string): unknown {
  const program = join(s3Tools.moto, '..', 'python')
  const script = `
import boto3, json, sys
given = sys.stdin.read()
known = dict(endpoint_url=${JSON.stringify(url)}, region_name='us-east-1', aws_access_key_id='a', aws_secret_access_key='b')
s3, iam = boto3.client('s3', **known), boto3.client('iam', **known)
${code}`
  return JSON.parse(execFileSync(program, ['-c', script], { input, encoding: 'utf8' }))
}

test('the rule of the page is one, and deletes later than the service names bodies', async () => {
  const { url } = await startMoto()
  const code = `
s3.put_bucket_lifecycle_configuration(Bucket='${BUCKET}', LifecycleConfiguration=json.loads(given))
print(json.dumps(s3.get_bucket_lifecycle_configuration(Bucket='${BUCKET}')['Rules']))`
  expect(python(url, code, block('"Rules"'))).toMatchObject([
    { Status: 'Enabled', Filter: { Prefix: 'tasks/' }, Expiration: { Days: 36 } },
  ])
  expect(page).toMatch(/--upload-ttl`, 35 days/)
})

test('the rights of the page are a policy', async () => {
  const { url } = await startMoto()
  const code = `print(json.dumps(iam.create_policy(PolicyName='bodies', PolicyDocument=given)['Policy']['PolicyName']))`
  expect(python(url, code, block('"Statement"'))).toBe('bodies')
})

test('a task names an object in the bucket of the page', async () => {
  const moto = await startMoto()
  await fetch(`${moto.url}/acme-invoices`, { method: 'PUT' })
  const here = (text: string) => text.replace('region=eu-central-1', `endpoint=${moto.url}`)
  const objects = s3Bucket(`s3://acme-invoices?endpoint=${moto.url}`, 'it', { clock: systemClock, env: moto.env })
  onTestFinished(() => objects.close())
  const pdf = Buffer.from('an invoice')
  await objects.put('outbox/2041.pdf', [pdf] as never, { 'content-length': `${pdf.length}` })
  const { url, heard } = await target()
  const cwd = folder({
    'buckets.json': here(block('"bodySources"')),
    'tokens.json': [tokenFor('acme', 'acme', 'tasks:write', 'tasks:read')],
  })
  const args = ['--body-sources', 'buckets.json', '--tokens', 'tokens.json', '--targets', new URL(url).origin]
  const service = await start([...args, '--allow-http', '--allow-private', '127.0.0.0/8'], cwd, moto.env)
  const authorization = 'Bearer acme'
  const task = { ...JSON.parse(block('"bodyRef"')), targetUrl: url }
  const answer = await post(`${service.url}/retry-tasks`, task, { authorization })
  const { taskId } = await json(answer)
  const headers = { authorization, prefer: 'wait=30' }
  expect(await json(await fetch(`${service.url}/retry-tasks/${taskId}`, { headers }))).toMatchObject({
    status: 'SUCCEEDED',
    attemptNumber: 1,
  })
  expect(heard).toMatchObject([{ bytes: pdf.length, isWhole: true }])
})
