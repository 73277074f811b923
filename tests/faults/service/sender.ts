/**
 * Says which process made a connection, by what Linux knows of its sockets: a request of the service does not tell its process, and a
 * judge has to know whose requests may go on when one is stopped. Elsewhere, and for a process that has just ended, nothing is known.
 */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Little-endian, as /proc/net/tcp shows 127.0.0.1. */
const LOOPBACK = '0100007F'

/** The life whose process has this socket, among `pids`; undefined: it is not known. */
export function lifeBehind(port: number, serverPort: number, pids: ReadonlyMap<string, number>): string | undefined {
  if (process.platform !== 'linux') return undefined
  const inode = inodeOf(port, serverPort)
  if (inode === undefined) return undefined
  const name = `socket:[${inode}]`
  for (const [life, pid] of pids) if (hasOpen(pid, name)) return life
  return undefined
}

function inodeOf(port: number, serverPort: number): string | undefined {
  const [local, remote] = [port, serverPort].map((each) => `${LOOPBACK}:${hex(each)}`)
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const fields = line.trim().split(/\s+/)
    if (fields[1] === local && fields[2] === remote) return fields[9]
  }
  return undefined
}

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

function hasOpen(pid: number, name: string): boolean {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).some((fd) => linkAt(`${folder}/${fd}`) === name)
  } catch {
    return false // it has ended meanwhile
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined // it was closed meanwhile
  }
}
