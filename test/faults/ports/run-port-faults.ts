import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { retryStatement } from '../../../services/worker/run/retry-statement.ts'
import { createRandom } from '../../bench/support/requests.ts'
import { isHittable } from '../runs/run-faults.ts'
import { killCrew, killPostgres, killWorker, PATIENCE } from '../runs/stage.ts'
import {
  abandonPortStage,
  CLIENTS,
  closePortStage,
  finishClients,
  killClient,
  killWeb,
  ledgerOf,
  openPortStage,
} from './stage.ts'
import type { PortStage } from './stage.ts'

interface PortFaultOptions {
  readonly kills: number
  readonly seed: number
  /** The directory of the bundles. @default some that are built first */
  readonly programs?: string
  readonly onKill?: (kills: number) => void
}

export interface PortFaultReport {
  readonly seed: number
  readonly faults: Readonly<Record<string, number>>
  /** By their kind. */
  readonly calls: Readonly<Record<string, number>>
  readonly runs: number
  readonly approvals: number
  /** Calls without a run, with several, or with the run of another; and runs without a call. */
  readonly wrongRuns: readonly string[]
  /** Runs whose events have gaps, are doubled, or are not all there. */
  readonly wrongEvents: readonly string[]
  /** Runs with another decision than the one that counts, or with several. */
  readonly wrongDecisions: readonly string[]
  readonly isRight: boolean
}

const PAUSE_MS = 300
const DECIDE_MS = 100

const FAULTS: Readonly<Record<string, (stage: PortStage, which: number) => Promise<unknown>>> = {
  'web SIGKILL': killWeb,
  'client SIGKILL': killClient,
  'worker SIGKILL': ({ runs }) => killWorker(runs),
  'crew SIGKILL': ({ runs }) => killCrew(runs),
  'postgres SIGKILL': ({ runs }) => killPostgres(runs),
}

/**
 * Kills web, worker, crew, clients and PostgreSQL while clients call over MCP and A2A, events
 * arrive, and people decide; then counts the runs of each call.
 */
export async function faultPorts(options: PortFaultOptions): Promise<PortFaultReport> {
  const stage = await openPortStage(options.programs)
  const people = decide(stage)
  try {
    const faults = await causeFaults(stage, options)
    await finishClients(stage)
    await untilOver(stage)
    await people.leave()
    const found = await audit(stage)
    await closePortStage(stage)
    const wrong = [...found.wrongRuns, ...found.wrongEvents, ...found.wrongDecisions]
    return { seed: options.seed, faults, ...found, isRight: wrong.length === 0 }
  } catch (thrown) {
    void people.leave()
    abandonPortStage(stage)
    throw thrown
  }
}

async function causeFaults(
  stage: PortStage,
  { kills, seed, onKill }: PortFaultOptions,
): Promise<Record<string, number>> {
  const random = createRandom(seed)
  const names = Object.keys(FAULTS)
  const counts: Record<string, number> = {}
  for (let killed = 1; killed <= kills; killed += 1) {
    await delay(random() * PAUSE_MS)
    while (!(await isHittable(stage.runs))) await delay(DECIDE_MS)
    const name = names[Math.floor(random() * names.length)] ?? ''
    await FAULTS[name]?.(stage, Math.floor(random() * CLIENTS.length))
    counts[name] = (counts[name] ?? 0) + 1
    onKill?.(killed)
  }
  return counts
}

/** Runs of triggers are waited for by no client. */
async function untilOver({ runs: { sql } }: PortStage): Promise<void> {
  for (;;) {
    const [row] = await retryStatement(
      () => sql<[{ live: number }]>`
        select count(*)::int as live from executions
        where status in ('queued', 'running', 'waiting')`,
      PATIENCE,
    )
    if (row.live === 0) return
    await delay(DECIDE_MS)
  }
}

/** Two people who decide otherwise about the same, at the same time, and do not give up. */
function decide({ runs: { sql }, api, token }: PortStage) {
  let isLeaving = false
  const send = (run: string, who: string): Promise<unknown> =>
    fetch(`${api}/resume/${run}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ task: 'last', decision: 'edit', text: `${who} decided, ${run}` }),
      signal: AbortSignal.timeout(5000),
    })
      .then((response) => response.body?.cancel())
      .catch(() => undefined)
  async function look(): Promise<void> {
    // Clients that were asked have a moment of their own.
    const waiting = await sql<{ runId: string }[]>`
      select run_id from run_approvals
      where decision is null and asked_at < now() - interval '300 ms' limit 20`
    await Promise.all(waiting.flatMap(({ runId }) => [send(runId, 'Ada'), send(runId, 'Bob')]))
  }
  const done = (async () => {
    while (!isLeaving) {
      await look().catch(() => undefined)
      await delay(DECIDE_MS)
    }
  })()
  return {
    leave(): Promise<void> {
      isLeaving = true
      return done
    },
  }
}

interface Entry {
  readonly id: string
  readonly kind: string
  readonly run?: string
}

async function readLedgers(stage: PortStage): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>()
  for (const name of CLIENTS) {
    for (const line of (await readFile(ledgerOf(stage, name), 'utf8')).split('\n')) {
      if (!line.startsWith('{') || !line.endsWith('}')) continue
      const entry = JSON.parse(line) as Entry
      entries.set(entry.id, { ...entries.get(entry.id), ...entry })
    }
  }
  return entries
}

interface Found {
  readonly id: string
  readonly number: string
  readonly status: string
  readonly output: string | null
  readonly decisions: readonly (string | null)[]
  readonly audited: number
  readonly numbers: readonly number[]
  readonly completed: readonly string[]
}

const findRuns = ({ runs: { sql } }: PortStage): Promise<Found[]> => sql<Found[]>`
  select e.id, e.inputs ->> 'number' as number, e.status, e.output,
    (select coalesce(array_agg(a.answer), '{}') from run_approvals a where a.run_id = e.id)
      as decisions,
    (select count(*)::int from audit_entries t
      where t.target_id = e.id::text and t.action = 'approval_decided') as audited,
    (select coalesce(array_agg(v.number order by v.number), '{}') from execution_events v
      where v.execution_id = e.id) as numbers,
    (select coalesce(array_agg(v.event ->> 'task' order by v.event ->> 'task'), '{}')
      from execution_events v
      where v.execution_id = e.id and v.event ->> 'type' = 'task_completed') as completed
  from executions e`

async function audit(stage: PortStage) {
  const [calls, runs] = [await readLedgers(stage), await findRuns(stage)]
  const own = new Map<string, string[]>()
  for (const { id, number } of runs) own.set(number, [...(own.get(number) ?? []), id])
  const wrongRuns = [...calls.values()].flatMap((call) => {
    const ids = own.get(call.id) ?? []
    return ids.length === 1 && ids[0] === call.run ? [] : [JSON.stringify({ ...call, ids })]
  })
  const uncalled = runs.filter(({ number }) => !calls.has(number))
  const wrongEvents = runs.filter(
    ({ numbers, completed }) =>
      numbers.some((number, at) => number !== at + 1) || completed.join() !== 'first,last',
  )
  const wrongDecisions = runs.filter(
    ({ status, output, decisions: [answer, ...others], audited }) =>
      status !== 'completed' || others.length > 0 || answer !== output || audited !== 1,
  )
  const counts: Record<string, number> = {}
  for (const { kind } of calls.values()) counts[kind] = (counts[kind] ?? 0) + 1
  return {
    calls: counts,
    runs: runs.length,
    approvals: runs.flatMap(({ decisions }) => decisions).length,
    wrongRuns: [...wrongRuns, ...uncalled.map((run) => JSON.stringify(run))],
    wrongEvents: wrongEvents.map((run) => JSON.stringify(run)),
    wrongDecisions: wrongDecisions.map((run) => JSON.stringify(run)),
  }
}
