// What every store passes, over the clients that users have, to one server.
import { contractOver, singleServer } from './ways.ts'

contractOver('redis, node-redis', singleServer('node-redis'))
contractOver('redis, ioredis', singleServer('ioredis'))
