// What every store passes, over the clients that users have, to one server.
import { storeContract } from '../store-contract.ts'
import { singleServer } from './ways.ts'

storeContract('redis, node-redis', singleServer('node-redis'), 20)
storeContract('redis, ioredis', singleServer('ioredis'), 20)
