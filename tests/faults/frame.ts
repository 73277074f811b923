/** What each run works in: a server that fails as its seed says, and a folder that is kept only where the run has failed. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FaultOptions, type FlakyServer, startFlaky } from '../servers/start.mjs'
import type { Check } from './checks.ts'

/** An answer that asks for a pause holds up all, so there are few. */
export const FAULTS = {
  share: 0.3,
  weights: { unavailable: 20, unavailable_retry_after: 1, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  latencyMs: [10, 90],
  slowShare: 0.03,
  slowMs: 500,
} as const satisfies FaultOptions

/** Where takeovers are measured there is always something in flight, and nothing pauses. */
export const CALM_FAULTS: FaultOptions = {
  share: 0.1,
  weights: { ...FAULTS.weights, unavailable_retry_after: 0 },
  latencyMs: [400, 1_000],
  slowShare: 0,
  slowMs: 0,
}

export interface Frame {
  /** Begins the folder's name. */
  readonly name: string
  readonly faults: FaultOptions
  readonly seed: number
  /** What is wrong on purpose: such a run leaves nothing behind. */
  readonly breaks?: string | undefined
  readonly mounts?: Readonly<Record<string, string>>
  /** What is in the folder. */
  readonly leaves: string
}

/** `run` gives the checks that do not hold. */
export async function framed(
  { faults, seed, breaks, mounts = {}, ...named }: Frame,
  run: (server: FlakyServer, folder: string) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  return await inFolder({ ...named, breaks }, async (folder) => {
    const server = await startFlaky({ faults: { ...faults, seed }, mounts, honoursKeys: breaks !== 'no-key' })
    try {
      return await run(server, folder)
    } finally {
      await server.close()
    }
  })
}

/** A folder that is kept where the run has failed, unless that is what it was to do. */
export async function inFolder(
  { name, breaks, leaves }: Pick<Frame, 'name' | 'breaks' | 'leaves'>,
  run: (folder: string) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  const folder = mkdtempSync(join(tmpdir(), `redrive-${name}-`))
  let isKept = !breaks
  try {
    const broken = await run(folder)
    isKept &&= broken.length > 0
    return broken
  } finally {
    if (isKept) process.stdout.write(`${leaves}: ${folder}\n`)
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
