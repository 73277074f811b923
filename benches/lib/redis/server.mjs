// A Redis of the bench's own, and what it says of itself.
import { Redis } from 'ioredis'
import { startServer } from '../../../tests/redis/servers.ts'

/** Longer than any run has scripts of which it asks. */
const SLOWEST_KEPT = 100_000

/**
 * Nothing is written but the append-only file, where there is one: when it is written anew depends on its size, and would fall
 * into one contestant's time and not into another's.
 */
export async function openRedis({ appendonly = false } = {}) {
  const args = ['--auto-aof-rewrite-percentage', '0', '--slowlog-max-len', `${SLOWEST_KEPT}`]
  const server = await startServer({ appendonly, args })
  const control = new Redis({ ...server.address, connectionName: 'bench' })
  control.on('error', () => {})
  await control.call('ACL', 'SETUSER', 'scripts', 'on', 'nopass', '~*', '&*', '+@all', '-fcall')
  const info = async (section) => {
    const text = await control.info(section)
    return Object.fromEntries([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]))
  }
  return {
    address: server.address,
    url: server.url,
    pid: server.pid,
    version: (await info('server')).redis_version,
    /** Microseconds of its processor, those of its threads for the disk too. */
    async cpuMicros() {
      const { used_cpu_sys, used_cpu_user } = await info('cpu')
      return (Number(used_cpu_sys) + Number(used_cpu_user)) * 1e6
    },
    memory: async () => Number((await info('memory')).used_memory),
    empty: () => control.flushall('SYNC'),
    /** It takes so many bytes more from now on; undefined: as many as there are. */
    async limit(more) {
      const { used_memory } = await info('memory')
      await control.config('SET', 'maxmemory', more === undefined ? '0' : `${Number(used_memory) + more}`)
    },
    /** From now on each script that takes longer than `fromMicros` is kept; the result gives their milliseconds, the longest first. */
    async watchScripts(fromMicros = 0) {
      await control.config('SET', 'slowlog-log-slower-than', `${fromMicros}`)
      await control.slowlog('RESET')
      return async () => {
        await control.config('SET', 'slowlog-log-slower-than', '-1')
        const entries = await control.slowlog('GET', '-1')
        const isScript = ([, , , [command]]) => /^(eval|fcall)/i.test(command)
        return entries
          .filter(isScript)
          .map(([, , micros]) => micros / 1_000)
          .sort((a, b) => b - a)
      }
    },
    async close() {
      control.disconnect()
      await server.end()
    },
  }
}
