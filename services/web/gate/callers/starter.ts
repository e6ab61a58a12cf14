import type { Actor } from '../../../platform/audit/audit.ts'
import type { Starter, Trigger } from '../../../platform/runs/runs.ts'

const LENGTH_MAX = 300

/** Returns whoever starts a run by a call, as the run keeps it. */
export const toStarter = ({ kind, id, name }: Actor, trigger: Trigger): Starter => ({
  trigger,
  id: `${kind}:${id ?? ''}`.slice(0, LENGTH_MAX),
  name: name.slice(0, LENGTH_MAX),
})
