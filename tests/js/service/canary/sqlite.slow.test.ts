import { testEveryPair } from './every-pair.ts'

testEveryPair({ store: 'sqlite', bodies: 'folder' })
