import type { Automation } from '../../../platform/automations/automations.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { WebDeps } from '../../context.ts'
import { isOver } from './run-status.ts'
import type { RunChange } from './run-watch.ts'

/** A run, and how a call waits for its end. */
interface FollowedRun {
  readonly automation: Pick<Automation, 'id'>
  readonly runId: string
  /** The same for all calls that count together. */
  readonly caller: string
  readonly change: RunChange
  readonly waitMs: number
  /** The longest time between two looks. @default as long as nothing changes */
  readonly lookMs?: number
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal
}

/**
 * Yields a run as it is now and after each change, until it has ended or waits for a person or a
 * budget, or the time is over. When too many calls wait already, only as it is now; nothing when
 * the automation has no such run.
 */
export async function* followRun(
  { sql, watch }: Pick<WebDeps, 'sql' | 'watch'>,
  { automation, runId, caller, change, waitMs, lookMs = waitMs, signal }: FollowedRun,
): AsyncGenerator<Run, void> {
  const endAt = performance.now() + waitMs
  const follower = watch.follow({ runId, caller, change })
  const isFollowing = typeof follower !== 'string'
  try {
    for (;;) {
      const run = await findRun(sql, automation.id, runId)
      if (!run) return
      yield run
      const leftMs = endAt - performance.now()
      const isDone = isOver(run) || run.status === 'waiting' || leftMs <= 0 || signal.aborted
      if (isDone || !isFollowing || follower.isStopping()) return
      await follower.changed(Math.min(leftMs, lookMs), signal)
    }
  } finally {
    if (isFollowing) follower.leave()
  }
}
