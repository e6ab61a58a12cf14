import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { requireInside } from '../connections/regions.ts'
import { findVersion, publishDraft } from '../projects/project-versions.ts'
import type { PinnedDraft, Publication, Version } from '../projects/project-versions.ts'
import { lockProject } from '../projects/releases.ts'
import type { VersionKey } from '../projects/projects.ts'
import { createEvaluation, giveUpEvaluation } from './evaluations.ts'
import { listChanged } from './evaluation-results.ts'
import type { ChangedCase } from './evaluation-results.ts'
import { getReplayGate } from '../replays/replay-gates.ts'
import { listGates } from './gates.ts'
import type { Gate } from './gates.ts'
import { judgeByReplay } from './judge-by-replay.ts'
import type { DivergedRun } from './judge-by-replay.ts'
import type { Scores } from './scores.ts'

/** The longest reason for which gates do not count. */
export const OVERRIDE_REASON_MAX = 1000
/** The cases of a refusal that are named. */
const CASES_MAX = 20

/** What a gate says of a version. */
export interface Verdict {
  /** null: it is about the newest runs. */
  readonly set: string | null
  readonly automationId: string
  /** null: it could not be started. */
  readonly evaluationId: string | null
  /** The replay of the newest runs; null: it is about a set, or could not be started. */
  readonly replayId: string | null
  /** `started`: just now; `pending`: it is in progress. */
  readonly state: 'passed' | 'started' | 'pending' | 'refused'
  readonly reason: string
  /** Those that the running version passes and this one does not. */
  readonly cases: readonly ChangedCase[]
  /** The first runs that it performs otherwise. */
  readonly runs: readonly DivergedRun[]
}

/** How a version is published in spite of its gates, or through them. */
interface Through extends Publication {
  readonly createdBy: string
  /** An admin says why the gates do not count. */
  readonly override?: string | undefined
}

/** The version, once it is published, or what its gates say. */
export type Published = { readonly version: Version } | { readonly verdicts: readonly Verdict[] }

/**
 * Publishes a draft as `publishDraft` does, if each gate of the automations of its project lets it
 * through. Starts the evaluations and replays that are missing: then, and while one is in progress,
 * nothing is published.
 */
export async function publishThroughGates(
  sql: Queryable,
  draft: PinnedDraft,
  { createdBy, override, ...publication }: Through,
): Promise<Published> {
  const { key, definition } = draft
  return inTransaction(sql, async (tx) => {
    // In the order in which evaluations are started: nothing waits in a circle.
    await tx`select from organizations where id = ${key.organizationId} for no key update`
    await lockProject(tx, key)
    // Before an evaluation costs anything, and also where an admin overrides the gates.
    await requireInside(tx, key.organizationId, definition)
    const now = await findVersion(tx, key)
    const verdicts: Verdict[] = []
    if (now?.publishedAt === null && override === undefined) {
      for (const automation of await listGated(tx, key)) {
        for (const gate of await listGates(tx, automation.id)) {
          verdicts.push(await judge(tx, { key, definition, automation, gate, createdBy }))
        }
        const gate = await getReplayGate(tx, automation.id)
        if (gate.last === 0) continue
        const { automationId } = automation
        const judged = { automation, gate, definition, number: key.number, createdBy }
        const verdict = await judgeByReplay(tx, judged)
        verdicts.push({ set: null, automationId, evaluationId: null, cases: [], ...verdict })
      }
    }
    if (verdicts.some(({ state }) => state !== 'passed')) return { verdicts }
    return { version: await publishDraft(tx, draft, publication) }
  })
}

interface Gated {
  readonly id: number
  readonly automationId: string
  readonly organizationId: number
  readonly projectVersionId: number
  /** The number of the version that it runs. */
  readonly running: number
}

const listGated = (tx: Transaction, { organizationId, projectId }: VersionKey): Promise<Gated[]> =>
  tx<Gated[]>`
    select d.id, d.automation_id, d.organization_id, d.project_version_id, v.number as running
    from deployments d join project_versions v on v.id = d.project_version_id
    where v.project_id = ${projectId} and d.organization_id = ${organizationId}
      and d.tests_project_id is null and (
        exists (select from gates where deployment_id = d.id)
        or exists (select from replay_gates where deployment_id = d.id and last > 0))
    order by d.id`

interface Judged {
  readonly key: VersionKey
  readonly definition: CrewDefinition
  readonly automation: Gated
  readonly gate: Gate
  readonly createdBy: string
}

interface Found {
  readonly id: string
  readonly isLate: boolean
  readonly isDone: boolean
  readonly scores: Scores | null
}

async function judge(tx: Transaction, judged: Judged): Promise<Verdict> {
  const { gate, automation } = judged
  const found = await findEvaluation(tx, judged)
  const { automationId } = automation
  const of = { set: gate.set, automationId, replayId: null, cases: [], runs: [] }
  if (!found) return { ...of, ...(await begin(tx, judged)) }
  const { id: evaluationId, scores, isLate, isDone } = found
  if (isDone && scores)
    return { ...of, evaluationId, ...(await weigh(tx, gate, { id: found.id, scores })) }
  if (!isLate) return { ...of, evaluationId, state: 'pending', reason: 'It is in progress.' }
  const reason = `It was not done within ${gate.withinMinutes} min. Publish again to start it anew.`
  await giveUpEvaluation(tx, evaluationId, reason)
  return { ...of, evaluationId, state: 'refused', reason }
}

/** The newest evaluation of what the draft says, on the cases and checks as they are now. */
async function findEvaluation(
  tx: Transaction,
  { definition, automation, gate }: Judged,
): Promise<Found | undefined> {
  const [found] = await tx<Found[]>`
    select e.id, e.finished_at is not null as is_done, e.scores,
      e.created_at + make_interval(mins => ${gate.withinMinutes}) < clock_timestamp() as is_late
    from evaluations e join case_sets s on s.id = e.set_id and s.revision = e.revision
      join project_versions v on v.id = e.version_id
    where e.set_id = ${gate.setId} and e.newest is null and e.repeat >= ${gate.repeat}
      and e.given_up is null and v.definition = ${JSON.stringify(definition)}::text::jsonb
      and (not ${gate.keepsPassing} or e.against_id = ${automation.projectVersionId})
    order by e.created_at desc, e.id limit 1`
  return found
}

type Said = Pick<Verdict, 'state' | 'reason'>

async function begin(
  tx: Transaction,
  { key, automation, gate, createdBy }: Judged,
): Promise<Said & Pick<Verdict, 'evaluationId'>> {
  const { set, repeat, keepsPassing } = gate
  const against = keepsPassing ? automation.running : null
  const fields = { set, version: key.number, against, repeat, newest: null, createdBy }
  try {
    const { id: evaluationId } = await createEvaluation(tx, automation, fields)
    return { evaluationId, state: 'started', reason: 'It was started.' }
  } catch (thrown) {
    // Said by the verb, and not by the database: the transaction is as good as before.
    if (!(thrown instanceof AppError)) throw thrown
    return { evaluationId: null, state: 'refused', reason: thrown.message }
  }
}

async function weigh(
  tx: Transaction,
  { atLeast, keepsPassing }: Gate,
  { id, scores }: { readonly id: string; readonly scores: Scores },
): Promise<Said & Pick<Verdict, 'cases'>> {
  const { version, difference } = scores
  const { passed, cases } = version
  const worse = keepsPassing ? (difference?.worse ?? 0) : 0
  const isEnough = passed * 100 >= atLeast * cases
  const reason = `${passed} of ${cases} cases pass, and ${atLeast} of 100 have to.`
  const lost = `${worse} fail that the running version passes.`
  const changed = worse > 0 ? await listChanged(tx, id, CASES_MAX) : []
  return {
    state: isEnough && worse === 0 ? 'passed' : 'refused',
    reason: worse > 0 ? `${reason} ${lost}` : reason,
    cases: changed.filter(({ isBetter }) => !isBetter),
  }
}

/** Returns why gates refuse a version, in a sentence for each. */
export const refusalOf = (verdicts: readonly Verdict[]): string =>
  verdicts
    .filter(({ state }) => state === 'refused')
    .map(({ set, reason }) =>
      set === null
        ? `The replay of the newest runs refuses it: ${reason}`
        : `The gate "${set}" refuses it: ${reason}`,
    )
    .join(' ')
