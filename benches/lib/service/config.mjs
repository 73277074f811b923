// A settings file with one token that may act for any tenant.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `headers` go with each request, beside that which names the tenant. */
export function openConfig(targets) {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-bench-'))
  const token = `rd_${randomBytes(16).toString('hex')}`
  const file = join(folder, 'redrive.config.json')
  const sha256 = createHash('sha256').update(token).digest('hex')
  const tokens = [{ name: 'bench', sha256, tenant: null, scopes: ['admin'] }]
  writeFileSync(file, JSON.stringify({ tokens, targets, allowHttp: true, allowPrivate: ['127.0.0.0/8'] }))
  return {
    flags: ['--config', file],
    headers: { authorization: `Bearer ${token}` },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const asTenant = (name) => ({ 'redrive-tenant': name })
