/** A service as a library, over the Redis that the command line names. It says why its store could not be opened, and closes. */

import { createClient } from 'redis'
import { createService } from '../../../js/service.ts'
import { redisStore } from '../../../js/stores/redis.ts'

const client = createClient({ url: process.argv[2] as string })
await client.connect()
const service = createService({ store: redisStore({ client, everyone: true }) })
await service.ready.catch(({ code }) => console.log(code))
await service.close({ drainMs: 0 })
client.destroy()
