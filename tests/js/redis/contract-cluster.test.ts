// What every store passes, over the clients that users have, to a cluster of three.
import { storeContract } from '../store-contract.ts'
import { cluster } from './ways.ts'

storeContract('redis, node-redis, a cluster', cluster('node-redis'), 20)
storeContract('redis, ioredis, a cluster', cluster('ioredis'), 20)
