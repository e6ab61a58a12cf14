import * as v from 'valibot'
import { RETRIED_FAILURES } from '../../platform/definitions/task-control.ts'
import { backoffMs } from '../../shared/backoff.ts'
import { failureOf, stepFailure } from '../steps.ts'
import { produceOutput } from './output.ts'
import type { AssignedTask } from './output.ts'
import type { TaskDeps } from './task-deps.ts'

const WAIT_SECONDS = 1
const WAIT_MAX_MS = 600_000

const tried = v.union([
  v.object({ output: v.string() }),
  v.object({ failure: v.object({ code: v.string(), message: v.string() }) }),
])

/**
 * Lets an agent produce the output of a task, and again after a failure that the task retries. A
 * failed try that another one follows is a finished step: no attempt repeats it, nor what it paid.
 */
export async function produceInTries(deps: TaskDeps, assigned: AssignedTask): Promise<string> {
  const { task, path } = assigned
  const { retry } = task
  if (!retry) return produceInTime(deps, assigned)
  const { times, wait_seconds: seconds = WAIT_SECONDS, on = RETRIED_FAILURES } = retry
  for (let number = 0; ; number += 1) {
    const place = [...path, `try:${number}`]
    const name = `${assigned.name} try ${number + 1}`
    const step = { kind: 'task', path: place, name, schema: tried } as const
    const ended = await deps.steps.perform(step, async (): Promise<v.InferOutput<typeof tried>> => {
      const wait = { firstMs: seconds * 1000, maxMs: WAIT_MAX_MS }
      if (number > 0 && seconds > 0) await deps.steps.wait(backoffMs(number, wait))
      try {
        return { output: await produceInTime(deps, { ...assigned, path: place }) }
      } catch (thrown) {
        const failure = failureOf(thrown)
        if (number === times || !on.some((code) => code === failure.code)) throw thrown
        return { failure }
      }
    })
    if ('output' in ended) return ended.output
  }
}

async function produceInTime(deps: TaskDeps, assigned: AssignedTask): Promise<string> {
  const { key, timeout_seconds: seconds } = assigned.task
  if (seconds === undefined) return produceOutput(deps, assigned)
  const limit = new AbortController()
  const message = `The task ${key} took longer than its timeout_seconds of ${seconds}.`
  const expire = (): void => limit.abort(stepFailure({ code: 'task_timeout', message }))
  const timer = setTimeout(expire, seconds * 1000)
  try {
    return await produceOutput({ ...deps, steps: deps.steps.within(limit.signal) }, assigned)
  } finally {
    clearTimeout(timer)
  }
}
