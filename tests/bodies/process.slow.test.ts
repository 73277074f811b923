// The program with its large bodies elsewhere: killed between the put and the task, and given more than fits into its memory.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { folder, json, post, start } from '../js/service/program.ts'
import { faultyProxy } from './faulty-proxy.ts'
import { BUCKET, startS3sFs } from './servers.ts'
import { target } from './target.ts'

const GIB = 2 ** 30
/** Of the one upload that does not fit into memory. */
const SIZE = Number(process.env.REDRIVE_BODY_BYTES ?? GIB)
/** More than the process may hold because of a body, whatever its size: buffers on both sides, and garbage that is not collected yet. */
const MOST_GROWTH = 200 * 2 ** 20

const LARGE = 'x'.repeat(300_000)

test('a process that is killed between the put and the task leaves a body alone, and the repeat is sent once', async () => {
  const s3 = await startS3sFs()
  const proxy = await faultyProxy(s3.url)
  const { url, heard } = await target()
  const cwd = folder()
  const args = ['--bodies', `s3://${BUCKET}/tasks?endpoint=${proxy.url}`]
  const first = await start(args, cwd, s3.env)
  // the bucket has it; the process never hears so
  proxy.onAnswer = ({ method }) => {
    if (method === 'PUT') first.child.kill('SIGKILL')
    return new Promise(() => {})
  }
  const task = { targetUrl: url, body: LARGE, idempotencyKey: 'order-1' }
  await expect(post(`${first.url}/retry-tasks`, task)).rejects.toThrow('fetch failed')
  await first.exit
  expect(proxy.passed.map(({ method, status }) => [method, status])).toEqual([['PUT', 200]])
  proxy.onAnswer = undefined

  const second = await start(args, cwd, s3.env)
  expect(await json(await fetch(`${second.url}/retry-tasks`))).toEqual({ tasks: [] })
  const answer = await post(`${second.url}/retry-tasks`, task)
  expect(answer.status).toBe(201)
  const { taskId } = await json(answer)
  const ended = await json(await fetch(`${second.url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=30' } }))
  expect(ended).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  expect(heard).toMatchObject([{ key: 'order-1', bytes: LARGE.length, isWhole: true }])
  // the orphan is under another name, which its age ends
  const puts = proxy.passed.filter(({ method }) => method === 'PUT').map(({ path }) => path)
  expect(new Set(puts).size).toBe(2)
})

/** Bytes that differ from place to place, made as they are read. */
async function* made(size: number, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  const part = Buffer.alloc(256 * 1024)
  for (let at = 0; at < size; at += part.length) {
    const copy = Buffer.from(part.subarray(0, Math.min(part.length, size - at)))
    copy.writeDoubleLE(at, 0)
    hash.update(copy)
    yield copy
  }
}

async function upload(url: string, size: number): Promise<{ readonly bodyRef: string; readonly sha256: string }> {
  const hash = createHash('sha256')
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request(`${url}/bodies`, { method: 'POST', headers: { 'content-length': size } }, (response) => {
      let said = ''
      response.on('data', (data) => {
        said += data
      })
      response.on('end', () => (response.statusCode === 201 ? resolve(said) : reject(new Error(said))))
    })
    sent.on('error', reject)
    pipeline(Readable.from(made(size, hash), { objectMode: false }), sent).catch(reject)
  })
  const uploaded = JSON.parse(answer)
  expect(uploaded).toMatchObject({ bytes: size, sha256: hash.digest('hex') })
  return uploaded
}

/** The most memory that a process has held so far, in bytes. */
const peakOf = (pid: number | undefined): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024

test.each(['file', 's3'])(`${SIZE} bytes go in and out by %s in memory that does not grow with them`, async (kind) => {
  const cwd = folder()
  const { url, heard } = await target()
  const s3 = kind === 's3' ? await startS3sFs() : undefined
  const bodies = s3 ? `s3://${BUCKET}?endpoint=${s3.url}` : 'file:bodies'
  const service = await start(['--bodies', bodies, '--attempt-timeout', '10m'], cwd, s3?.env)
  const deliver = async (size: number) => {
    const { bodyRef, sha256 } = await upload(service.url, size)
    const answer = await json(await post(`${service.url}/retry-tasks`, { targetUrl: url, bodyRef }))
    await eventually(() => heard.length, 300_000).toBe(size === SIZE ? 2 : 1)
    expect(heard.at(-1)).toMatchObject({ bytes: size, sha256, isWhole: true })
    const task = await json(
      await fetch(`${service.url}/retry-tasks/${answer.taskId}`, { headers: { prefer: 'wait=30' } }),
    )
    expect(task).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  }
  await deliver(4 * 2 ** 20)
  const before = peakOf(service.child.pid)
  await deliver(SIZE)
  const growth = peakOf(service.child.pid) - before
  console.info(`${kind}: ${SIZE} bytes, ${(growth / 2 ** 20).toFixed(1)} MiB more than with 4 MiB`)
  expect(growth).toBeLessThan(MOST_GROWTH)
})
