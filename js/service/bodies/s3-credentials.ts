/** Credentials for a bucket: the variables that all tools of AWS know, or its file of credentials. Read anew for each request, as they may be exchanged. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { SecretError, type Secrets } from '../secrets.ts'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

type Env = Readonly<Record<string, string | undefined>>

/** Rejects with a SecretError where there are none. */
export async function s3Credentials(env: Env, secrets: Secrets): Promise<S3Credentials> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env
  if (id && secret) return { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) }
  const path = env.AWS_SHARED_CREDENTIALS_FILE ?? join(homedir(), '.aws', 'credentials')
  const profile = env.AWS_PROFILE ?? 'default'
  const found = profileIn(await secrets.read({ kind: 'file', at: path }), profile)
  if (found) return found
  throw new SecretError(`file:${path}`, `the profile '${profile}' has no aws_access_key_id and aws_secret_access_key`)
}

/** A profile of the INI file that tools of AWS share. */
export function profileIn(text: string, profile: string): S3Credentials | undefined {
  const values = new Map<string, string>()
  let isOwn = false
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\s*\[\s*(?:profile\s+)?([^\]]+?)\s*\]/.exec(line) ?? []
    if (section !== undefined) isOwn = section === profile
    const [, name, value] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? []
    if (isOwn && name !== undefined && value !== undefined) values.set(name.toLowerCase(), value)
  }
  const [id, secret] = [values.get('aws_access_key_id'), values.get('aws_secret_access_key')]
  const token = values.get('aws_session_token')
  return id && secret ? { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) } : undefined
}
