// A process that does nothing but remove locks that it finds free. One line for each round of looks.
import { OwnerLocks } from '../../../js/stores/sqlite/owner-locks.ts'

const locks = new OwnerLocks(process.argv[2] ?? '')
const round = (): void => {
  for (let looks = 0; looks < 20; looks++) locks.remove([...locks.gone(new Set()).values()].flat())
  process.stdout.write('looked\n', () => setImmediate(round))
}
round()
