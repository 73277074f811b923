// Ports over real servers: what their tests share.
import type { Buffer } from 'node:buffer'
import { onTestFinished } from 'vitest'
import { portOf } from '../../../js/stores/redis/client.ts'
import type { RedisPort } from '../../../js/stores/redis/port.ts'
import { type RedisServer, startServer } from '../../redis/servers.ts'

export const KEY = '{redrive:ports}:m'
export const CHANNEL = '{redrive:ports}:h'

export const alone = async (): Promise<RedisServer> => {
  const server = await startServer()
  onTestFinished(() => server.end())
  return server
}

export const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {})
  return client
}

export function portTo(client: unknown, subscriber?: unknown): RedisPort {
  const port = portOf(client, subscriber)
  onTestFinished(() => port.close())
  return port
}

export const subscribe = (port: RedisPort, heard: (message: Buffer) => void): Promise<() => Promise<void>> => {
  if (!port.subscribe) throw new Error('this port hears nothing')
  return port.subscribe(CHANNEL, heard)
}
