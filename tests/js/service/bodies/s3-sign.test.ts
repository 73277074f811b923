// AWS' own examples of Signature Version 4 for S3 (Amazon S3 API Reference, "Signature Calculations for the Authorization Header"), through
// our use of the signer. Its example of a PUT signs the header Date, which this signer leaves out in favour of x-amz-date.
import { expect, test } from 'vitest'
import { signedHeaders } from '../../../../js/service/bodies/s3-sign.ts'

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const credentials = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const AT = { region: 'us-east-1', credentials, at: new Date('2013-05-24T00:00:00Z') }
const HERE = 'https://examplebucket.s3.amazonaws.com'

test.each([
  {
    what: 'GET of an object',
    request: { method: 'GET', url: `${HERE}/test.txt`, headers: { range: 'bytes=0-9', 'x-amz-content-sha256': EMPTY } },
    names: 'host;range;x-amz-content-sha256;x-amz-date',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    what: 'GET of the lifecycle of a bucket',
    request: { method: 'GET', url: `${HERE}/?lifecycle`, headers: { 'x-amz-content-sha256': EMPTY } },
    names: 'host;x-amz-content-sha256;x-amz-date',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    what: 'GET of a list',
    request: { method: 'GET', url: `${HERE}/?max-keys=2&prefix=J`, headers: { 'x-amz-content-sha256': EMPTY } },
    names: 'host;x-amz-content-sha256;x-amz-date',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
])('$what is signed as AWS has published it', async ({ request, names, signature }) => {
  const signed = await signedHeaders({ ...request, url: new URL(request.url) }, AT)
  expect(signed['x-amz-date']).toBe('20130524T000000Z')
  expect(signed.authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
  )
})

test('a session has its token among what is signed', async () => {
  const request = { method: 'GET', url: new URL(`${HERE}/test.txt`), headers: { 'x-amz-content-sha256': EMPTY } }
  const signed = await signedHeaders(request, { ...AT, credentials: { ...credentials, sessionToken: 'a-token' } })
  expect(signed['x-amz-security-token']).toBe('a-token')
  expect(signed.authorization).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,')
})
