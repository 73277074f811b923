// What every store passes, over Valkey.
import { valkeyProgram } from '../../redis/servers.ts'
import { contractOver, singleServer } from './ways.ts'

const program = valkeyProgram()
if (program === undefined) throw new Error('no valkey-server: npm test installs one; VALKEY_PATH names another')
contractOver('valkey, ioredis', singleServer('ioredis', program))
