import { noteBuildLook } from '../../platform/crews/build-checks.ts'
import { keepTurning } from '../../shared/keep-turning.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { ImageBuilder } from '../deployments/kubernetes/cluster-settings.ts'
import { lookAtBuilds } from './look-at-builds.ts'

const LOOK_MS = 60_000

/** Keeps what BuildKit and the registry of crews look like, for the diagnostic report. */
export function keepLooking({
  sql,
  log,
  builder,
}: {
  readonly sql: Database
  readonly log: Log
  readonly builder: ImageBuilder
}): { stop(): Promise<void> } {
  const turn = async (): Promise<number> => {
    await noteBuildLook(sql, await lookAtBuilds(builder))
    return 0
  }
  return keepTurning({ name: 'looking at builds', turn, everyMs: LOOK_MS, log })
}
