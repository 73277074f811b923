/**
 * Comes before the program of a service process, by `--import`: the process ends with the run that started it, however that one ended, and it
 * is given its mutant, if the run asked for one.
 */

import { flushCompileCache } from 'node:module'
import { applyMutant } from './mutants.ts'

/** A process that is killed writes down nothing of what it compiled: so that the next one starts sooner, it is written early. */
const FLUSH_MS = 2_000

const mutant = process.env.FAULTS_MUTANT
if (mutant) applyMutant(mutant)

process.once('disconnect', () => process.exit(1))
// its parent is no reason to go on
process.channel?.unref()
setTimeout(flushCompileCache, FLUSH_MS).unref()
