// Memory of a service over time, under a load that is nowhere near what it can take.
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 10
const MIB = 2 ** 20

/** MiB in memory before the load, and at the end of each of `minutes`. `name`: a part of the paths. */
export async function memory({ origin }, name, openStore, { perSecond, minutes, minuteMs }) {
  const service = await openService(openStore)
  const [process] = service.processes
  const client = poster(service.url, CONNECTIONS)
  const mib = async () => (await process.usage()).rssBytes / MIB
  const sizes = [await mib()]
  const count = Math.ceil((perSecond * minuteMs) / 1_000)
  for (let minute = 0; minute < minutes; minute++) {
    await client.paced(count, perSecond, (at) => [taskText(origin, `${name}/${minute * count + at}`)])
    sizes.push(await mib())
  }
  await client.close()
  await service.close()
  return sizes
}
