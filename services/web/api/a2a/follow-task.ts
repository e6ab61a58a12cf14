import { findTask } from '../../../platform/a2a/tasks.ts'
import type { Task } from '../../../platform/a2a/tasks.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { callerOf } from '../automation/events.ts'
import { followRun } from '../automation/follow-run.ts'
import { isOver } from '../automation/run-status.ts'
import type { RunChange } from '../automation/run-watch.ts'
import type { Fields } from '../json-rpc.ts'
import { ownerOf } from './call.ts'
import type { A2aCall } from './call.ts'
import { artifactsOf, statusOf, taskDocument } from './task-document.ts'

/** As long as streams of events: then the client asks again, and its token is checked again. */
const FOLLOW_MS = 900_000
/** Shorter than the idle limits of usual proxies. */
const BEAT_MS = 15_000

/** What is yielded while a task is followed; undefined: nothing is new. */
export type Updates = AsyncGenerator<Fields | undefined, void>

/** Returns true for a task whose status changes no more. */
export const isEnded = ({ status }: Task): boolean =>
  status === 'completed' || status === 'error' || status === 'stopped'

async function* runsOf(
  { c, deps }: A2aCall,
  task: Task,
  change: RunChange,
): AsyncGenerator<Run, void> {
  yield* followRun(deps, {
    automation: c.var.automation,
    runId: task.id,
    caller: callerOf(c),
    change,
    waitMs: FOLLOW_MS,
    lookMs: BEAT_MS,
    signal: c.req.raw.signal,
  })
}

/** Waits until a task has ended or waits itself, and yields its document then. */
export async function* awaitTask(
  call: A2aCall,
  task: Task,
  document: (task: Task) => Promise<Fields>,
): Updates {
  for await (const _ of runsOf(call, task, 'status')) yield undefined
  yield await document((await findTask(call.deps.sql, ownerOf(call), task.id)) ?? task)
}

/**
 * Yields a task as it is, and then each change of its status, up to its end or to where it waits.
 * What it put out comes before its end.
 */
export async function* followTask(
  call: A2aCall,
  task: Task,
  { historyLength }: { readonly historyLength?: number | undefined },
): Updates {
  const { c, deps } = call
  const { automation } = c.var
  const { id: taskId, contextId } = task
  let told: string | undefined
  for await (const run of runsOf(call, task, 'event')) {
    const now = (await findTask(deps.sql, ownerOf(call), taskId)) ?? task
    // Its end is told with what it put out, which this look at the run may not have yet.
    if (told !== undefined && isEnded(now) && !isOver(run)) continue
    const status = await statusOf(deps, now)
    const { message } = status
    const current = JSON.stringify([status.state, message?.parts])
    if (told === undefined) {
      const wanted = { historyLength, artifacts: isEnded(now) }
      yield { task: await taskDocument(deps, { automation, task: now }, wanted) }
    } else if (current === told) yield undefined
    else {
      const artifacts = isOver(run) ? await artifactsOf(deps, automation, run) : []
      for (const artifact of artifacts) {
        yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } }
      }
      yield { statusUpdate: { taskId, contextId, status } }
    }
    told = current
  }
}
