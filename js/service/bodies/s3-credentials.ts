/**
 * Credentials for a bucket: the variables that all tools of AWS know, or its file of credentials, or the role of the machine, the container or
 * the pod. They are asked for anew for each request, as they may be exchanged.
 */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { SecretError, type Secrets } from '../secrets.ts'
import { codeOf } from './body-store.ts'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

type Env = Readonly<Record<string, string | undefined>>

/** Rejects where there are none. */
export type GiveS3Credentials = () => Promise<S3Credentials>

/** `ofRoles`: asked where neither the environment nor the file has any. Rejects with a SecretError where there are none at all. */
export async function s3Credentials(env: Env, secrets: Secrets, ofRoles?: GiveS3Credentials): Promise<S3Credentials> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env
  if (id && secret) return { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) }
  const path = env.AWS_SHARED_CREDENTIALS_FILE ?? join(homedir(), '.aws', 'credentials')
  const profile = env.AWS_PROFILE ?? 'default'
  let missing = new SecretError(
    `file:${path}`,
    `the profile '${profile}' has no aws_access_key_id and aws_secret_access_key`,
  )
  try {
    const found = profileIn(await secrets.read({ kind: 'file', at: path }), profile)
    if (found) return found
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    missing = error
  }
  if (!ofRoles) throw missing
  try {
    return await ofRoles()
  } catch (error) {
    throw new SecretError('AWS', `no AWS_ACCESS_KEY_ID; ${missing.message}; ${whyNoRole(error)}`)
  }
}

/**
 * Those of a role, as AWS' own SDK finds them: of an instance, a container, a pod, a web identity, or a profile that names one. The SDK is
 * loaded when it is first asked, keeps what it is given until that expires, and reads the environment of the process.
 */
export function credentialsOfRoles(): GiveS3Credentials {
  let provider: Promise<GiveS3Credentials> | undefined
  return async () => {
    provider ??= import('@aws-sdk/credential-providers').then(({ fromNodeProviderChain }) => fromNodeProviderChain())
    return (await provider)()
  }
}

function whyNoRole(error: unknown): string {
  const code = codeOf(error)
  return code === 'ERR_MODULE_NOT_FOUND'
    ? 'for the role of a machine, a container or a pod, install @aws-sdk/credential-providers beside redrive'
    : `and no role: ${code}`
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
