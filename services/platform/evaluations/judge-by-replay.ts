import { AppError } from '../../shared/errors.ts'
import type { Transaction } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Automation } from '../automations/automations.ts'
import type { ReplayGate } from '../replays/replay-gates.ts'
import { createReplay, giveUpReplay } from '../replays/replays.ts'

/** For so long a replay counts: meanwhile there are other newest runs. */
const COUNTS_HOURS = 24
/** The runs of a refusal that are named. */
const RUNS_MAX = 20

/** A run that a version performs otherwise. */
export interface DivergedRun {
  readonly kickoffId: string
  readonly reason: string
}

/** What the replays of the newest runs say of a version. */
interface ReplayVerdict {
  /** null: it could not be started. */
  readonly replayId: string | null
  readonly state: 'passed' | 'started' | 'pending' | 'refused'
  readonly reason: string
  /** The first ones that differ. */
  readonly runs: readonly DivergedRun[]
}

interface Judged {
  readonly automation: Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>
  readonly gate: ReplayGate
  /** The draft, and its number. */
  readonly definition: CrewDefinition
  readonly number: number
  readonly createdBy: string
}

interface Found {
  readonly id: string
  readonly waiting: number
  readonly equal: number
  readonly different: number
  readonly impossible: number
  readonly isLate: boolean
}

/** Judges a draft by the newest replay of what it says, and starts one where there is none. */
export async function judgeByReplay(tx: Transaction, judged: Judged): Promise<ReplayVerdict> {
  const { gate } = judged
  const found = await findReplay(tx, judged)
  if (!found) return begin(tx, judged)
  const of = { replayId: found.id, runs: [] }
  if (found.waiting === 0) return weigh(tx, gate, found)
  if (!found.isLate) return { ...of, state: 'pending', reason: 'It is in progress.' }
  await giveUpReplay(tx, found.id)
  const reason = `It was not done within ${gate.withinMinutes} min. Publish again to start it anew.`
  return { ...of, state: 'refused', reason }
}

/** One that was given up, or of which runs were deleted, has fewer results than it had runs. */
async function findReplay(
  tx: Transaction,
  { automation, gate, definition }: Judged,
): Promise<Found | undefined> {
  const [found] = await tx<Found[]>`
    select p.id, c.waiting, c.equal, c.different, c.impossible,
      p.created_at + make_interval(mins => ${gate.withinMinutes}) < clock_timestamp() as is_late
    from replays p join project_versions v on v.id = p.version_id cross join lateral (
      select count(*) filter (where finished_at is null)::int as waiting,
        count(*) filter (where state = 'equal')::int as equal,
        count(*) filter (where state = 'different')::int as different,
        count(*) filter (where state = 'impossible')::int as impossible, count(*)::int as kept
      from replay_runs where replay_id = p.id) c
    where p.deployment_id = ${automation.id} and p.last >= ${gate.last} and p.status = 'any'
      and p.of_version is null and p.kickoff_ids = '{}' and p.mode = 'offline'
      and (c.waiting > 0 or c.kept = p.runs)
      and v.definition = ${JSON.stringify(definition)}::text::jsonb
      and p.created_at > clock_timestamp() - make_interval(hours => ${COUNTS_HOURS})
    order by p.created_at desc, p.id limit 1`
  return found
}

async function begin(
  tx: Transaction,
  { automation, gate, number, createdBy }: Judged,
): Promise<ReplayVerdict> {
  const chosen = { last: gate.last, status: 'any', ofVersion: null, kickoffIds: [] } as const
  const fields = { ...chosen, mode: 'offline' as const, tokensMax: 0, version: number, createdBy }
  try {
    const { id: replayId } = await createReplay(tx, automation, fields)
    return { replayId, state: 'started', reason: 'It was started.', runs: [] }
  } catch (thrown) {
    // Said by the verb, and not by the database: the transaction is as good as before.
    if (!(thrown instanceof AppError)) throw thrown
    return { replayId: null, state: 'refused', reason: thrown.message, runs: [] }
  }
}

async function weigh(
  tx: Transaction,
  { refuses }: ReplayGate,
  { id: replayId, equal, different, impossible }: Found,
): Promise<ReplayVerdict> {
  const runs = await tx<(DivergedRun & { readonly all: number })[]>`
    select run_id as kickoff_id, coalesce(reason, '') as reason, count(*) over ()::int as all
    from replay_runs where replay_id = ${replayId} and state = 'different'
      and (${refuses} = 'any' or step ->> 'kind' = 'tool')
    order by position limit ${RUNS_MAX}`
  const refused = runs[0]?.all ?? 0
  const counts = `${equal} equal, ${different} different, ${impossible} not possible.`
  const reason =
    equal + different === 0
      ? 'None of the runs can be replayed, so that they say nothing of it.'
      : refused > 0
        ? `${refused} differ${refuses === 'any' ? '' : ' in a call of a tool'}. ${counts}`
        : counts
  return {
    replayId,
    state: refused > 0 || equal + different === 0 ? 'refused' : 'passed',
    reason,
    runs: runs.map(({ kickoffId, reason: why }) => ({ kickoffId, reason: why })),
  }
}
