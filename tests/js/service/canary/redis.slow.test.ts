import { testEveryPair } from './every-pair.ts'

testEveryPair({ store: 'redis', bodies: 'bucket' })
