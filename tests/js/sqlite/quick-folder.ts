// Where suites that make hundreds of files keep them.
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** In memory, where the system has a folder for that: these suites are not about the disk, and would mostly wait for it. */
export const QUICK_FOLDER: string = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
