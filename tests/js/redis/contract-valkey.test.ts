// What every store passes, over Valkey.
import { valkeyProgram } from '../../redis/servers.ts'
import { storeContract } from '../store-contract.ts'
import { singleServer } from './ways.ts'

const program = valkeyProgram()
if (program === undefined) throw new Error('no valkey-server: npm test installs one; VALKEY_PATH names another')
storeContract('valkey, ioredis', singleServer('ioredis', program), 20)
