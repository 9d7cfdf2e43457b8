// The roster: who is measured in this run, and who cannot be and why.
import type { Options } from '../options.ts'
import { UsageError } from '../options.ts'
import { bare, bareMinimal } from './bare.ts'
import type { Candidate, Contender, Site } from './candidate.ts'
import { createGateway, gateway } from './gateway.ts'
import { nginx } from './nginx.ts'
import { portkey } from './portkey.ts'

const PEERS: Readonly<Record<string, Candidate>> = { portkey }

export function pickCandidates({ peers, against, isQuick }: Options): readonly Candidate[] {
  const own = isQuick ? [bare, gateway] : [bare, bareMinimal, gateway, nginx]
  const other = against === undefined ? [] : [createGateway('against', { root: against })]
  return [...own, ...other, ...peers.map(getPeer)]
}

function getPeer(id: string): Candidate {
  const peer = PEERS[id]
  if (peer !== undefined) return peer
  throw new UsageError(`--peer must be one of: ${Object.keys(PEERS).join(', ')}`)
}

export interface Field {
  readonly contenders: readonly Contender[]
  /** Who is missing, and why. */
  readonly absent: readonly string[]
}

/** Starts them all. The gateway and its yardstick must come up; the others may be missing. */
export async function openField(candidates: readonly Candidate[], site: Site): Promise<Field> {
  const contenders: Contender[] = []
  const absent: string[] = []
  for (const candidate of candidates) {
    const obstacle = candidate.obstacle?.()
    if (obstacle === undefined) {
      const opened = await openOrExplain(candidate, site)
      if (typeof opened === 'string') absent.push(opened)
      else contenders.push(opened)
    } else absent.push(`${candidate.id}: ${obstacle}`)
  }
  return { contenders, absent }
}

async function openOrExplain(candidate: Candidate, site: Site): Promise<Contender | string> {
  try {
    return await candidate.open(site)
  } catch (thrown) {
    // A peer that cannot be installed is a gap in the table; a gateway that does not start is a failure.
    if (candidate !== PEERS[candidate.id]) throw thrown
    return `${candidate.id}: ${thrown instanceof Error ? thrown.message : String(thrown)}`
  }
}
