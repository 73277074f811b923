// The settings of a bucket in docs/service-sending.md, given to a server that reads them as AWS does.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { s3Tools } from '../../scripts/setup/s3.mjs'
import { BUCKET, startMoto } from './servers.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'service-sending.md'), 'utf8')

function block(word: string): string {
  const found = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
    code.includes(word) ? code : [],
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
