import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'

/** Which differences refuse a version. */
export const REFUSED_DIFFERENCES = ['tool_calls', 'any'] as const

/** The newest runs of an automation have to replay before a version is published. */
export interface ReplayGate {
  /** So many of the newest runs; 0: there is no such gate. */
  readonly last: number
  readonly refuses: (typeof REFUSED_DIFFERENCES)[number]
  /** The time for the replay. */
  readonly withinMinutes: number
}

const NONE: ReplayGate = { last: 0, refuses: 'tool_calls', withinMinutes: 60 }

/** Returns the gate of an automation; one over no runs says nothing. */
export async function getReplayGate(sql: Queryable, deploymentId: number): Promise<ReplayGate> {
  const [found] = await sql<ReplayGate[]>`
    select last, refuses, within_minutes from replay_gates where deployment_id = ${deploymentId}`
  return found ?? NONE
}

/** Keeps the gate of an automation. */
export async function saveReplayGate(
  sql: Queryable,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  gate: ReplayGate,
): Promise<void> {
  const { last, refuses, withinMinutes } = gate
  const row = { last, refuses, withinMinutes }
  await sql`
    insert into replay_gates ${sql({ deploymentId, organizationId, ...row })}
    on conflict (deployment_id) do update set ${sql(row)}`
}
