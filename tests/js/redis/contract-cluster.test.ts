// What every store passes, over the clients that users have, to a cluster of three.
import { cluster, contractOver } from './ways.ts'

contractOver('redis, node-redis, a cluster', cluster('node-redis'))
contractOver('redis, ioredis, a cluster', cluster('ioredis'))
