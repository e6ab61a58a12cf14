import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { ensureAssistant } from './assistant.ts'
import { isUuid } from '../automations/automations.ts'
import { resolveInputs } from '../definitions/crew-inputs.ts'
import { parseCrewDefinition } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { INTERNAL_DEFINITIONS } from '../definitions/internal-crew-definitions.ts'
import { createVersion } from './project-versions.ts'
import type { ProjectKey } from './projects.ts'
import { definitionText, readAnswer } from './proposal-answer.ts'
import { findRunRecord } from '../runs/run-history.ts'
import type { RunRecord } from '../runs/run-history.ts'
import { kickoff, stopRun } from '../runs/runs.ts'
import type { Starter } from '../runs/runs.ts'

/** The longest request, in characters. */
export const REQUEST_CHARACTERS_MAX = 8000
/** Longer ones would fill the context of most models. */
const CURRENT_CHARACTERS_MAX = 100_000
const ANSWER_SHOWN_MAX = 64_000
const LIST_MAX = 10

/** How far a proposal is: `asked` until the Assistant has answered. */
type ProposalState = 'asked' | 'proposed' | 'failed' | 'accepted' | 'discarded'

/** What somebody asked the Assistant for, and what it proposes. */
export interface Proposal {
  readonly id: string
  readonly organizationId: number
  readonly projectId: number
  /** The version that it changes; null: there was none. */
  readonly baseNumber: number | null
  readonly request: string
  readonly runId: string
  /** Set when the first answer was no definition, and the Assistant was asked again. */
  readonly secondRunId: string | null
  readonly state: ProposalState
  readonly definition: CrewDefinition | null
  /** What is wrong with the last answer, or why there is none. */
  readonly problems: readonly string[]
  readonly acceptedNumber: number | null
  readonly createdAt: Date
}

/** Names a proposal for a project. */
export interface ProposalKey extends ProjectKey {
  readonly id: string
}

/** What somebody asks the Assistant for. */
interface ProposalRequest extends ProjectKey {
  readonly request: string
  /** The version to change. */
  readonly base?: { readonly number: number; readonly definition: CrewDefinition } | undefined
  /** The model that the Assistant calls. */
  readonly model: string
  /** The models that the crew may use. */
  readonly models: readonly string[]
  readonly createdBy: number
  readonly idempotencyKey?: string | undefined
  readonly starter?: Starter | undefined
}

const columns = (sql: Queryable) => sql`
  id, organization_id, project_id, base_number, request, run_id, second_run_id, state, definition,
  problems, accepted_number, created_at`

const isProposal = (sql: Queryable, { organizationId, projectId, id }: ProposalKey) => sql`
  id = ${id} and project_id = ${projectId} and organization_id = ${organizationId}`

/**
 * Queues a run of the Assistant for the organization. Raises `unprocessable`, and `conflict` when
 * the Assistant is not installed.
 */
export async function startProposal(sql: Database, asked: ProposalRequest): Promise<Proposal> {
  const { organizationId, projectId, request, base, models, createdBy, ...once } = asked
  const { idempotencyKey, starter } = once
  const current = base && definitionText(base.definition)
  if (current !== undefined && current.length > CURRENT_CHARACTERS_MAX) {
    throw new AppError(
      'unprocessable',
      `Version ${base?.number} is too long for the Assistant: it has ${current.length} ` +
        `characters, and ${CURRENT_CHARACTERS_MAX} are allowed. Change it by hand.`,
    )
  }
  const given = { request, models: models.join(', '), ...(current && { current }) }
  const inputs = resolveInputs(INTERNAL_DEFINITIONS.assistant, given)
  const { id: deploymentId } = await ensureAssistant(sql, asked)
  const runId = await kickoff(sql, { deploymentId, inputs, idempotencyKey, starter })
  const row = { organizationId, projectId, request, runId, createdBy }
  // A form that is sent twice started one run, and gets one proposal.
  const [created] = await sql<[Proposal]>`
    insert into version_proposals ${sql({ ...row, baseNumber: base?.number ?? null })}
    on conflict (run_id) do update set run_id = excluded.run_id returning ${columns(sql)}`
  return created
}

/** Returns a proposal for a project of the organization, if it exists. */
export async function findProposal(
  sql: Queryable,
  key: ProposalKey,
): Promise<Proposal | undefined> {
  if (!isUuid(key.id)) return undefined
  const [found] = await sql<Proposal[]>`
    select ${columns(sql)} from version_proposals where ${isProposal(sql, key)}`
  return found
}

/** Returns the last proposals for a project, newest first; at most 10. */
export async function listProposals(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
): Promise<Proposal[]> {
  return sql<Proposal[]>`
    select ${columns(sql)} from version_proposals
    where project_id = ${projectId} and organization_id = ${organizationId}
    order by created_at desc limit ${LIST_MAX}`
}

/**
 * Reads the answer once the run of a proposal is over: a definition is proposed, and anything else
 * makes the Assistant be asked once more, with the problems. Returns the proposal with its last
 * run. Safe to call at the same time from several places.
 */
export async function settleProposal(
  sql: Database,
  proposal: Proposal,
): Promise<{ proposal: Proposal; run: RunRecord | undefined }> {
  const { organizationId, runId, secondRunId } = proposal
  const run = await findRunRecord(sql, { organizationId, id: secondRunId ?? runId })
  if (proposal.state !== 'asked' || !run?.finishedAt) return { proposal, run }
  if (run.status !== 'completed') {
    const why = run.error?.message ?? 'The run of the Assistant was stopped.'
    return { proposal: await fail(sql, proposal, [why]), run }
  }
  const answer = run.output ?? ''
  const read = readAnswer(answer)
  if ('definition' in read) return { proposal: await propose(sql, proposal, read.definition), run }
  if (secondRunId !== null) return { proposal: await fail(sql, proposal, read.problems), run }
  return askAgain(sql, { proposal, run, problems: read.problems })
}

interface FirstAnswer {
  readonly proposal: Proposal
  readonly run: RunRecord
  readonly problems: readonly string[]
}

async function askAgain(sql: Database, { proposal, run, problems }: FirstAnswer) {
  const correction = [
    `You answered before:\n${(run.output ?? '').slice(0, ANSWER_SHOWN_MAX)}`,
    `That cannot be used:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    'Answer with the whole definition, put right.',
  ].join('\n\n')
  const { deploymentId } = run
  const inputs = { ...run.inputs, correction }
  try {
    const id = await kickoff(sql, {
      deploymentId,
      inputs,
      // Whoever else looks at the proposal now starts the same run.
      idempotencyKey: `proposal-${proposal.id}`,
    })
    const asked = await update(
      sql,
      proposal,
      sql`second_run_id = ${id}, problems = ${problems}::text[]`,
    )
    const second = await findRunRecord(sql, { organizationId: proposal.organizationId, id })
    return { proposal: asked, run: second }
  } catch (thrown) {
    // Such as a budget that is used up.
    if (!(thrown instanceof AppError)) throw thrown
    return { proposal: await fail(sql, proposal, [...problems, thrown.message]), run }
  }
}

const propose = (sql: Database, proposal: Proposal, definition: CrewDefinition) =>
  update(
    sql,
    proposal,
    sql`state = 'proposed', problems = '{}',
      definition = ${JSON.stringify(definition)}::text::jsonb`,
  )

const fail = (sql: Database, proposal: Proposal, problems: readonly string[]) =>
  update(sql, proposal, sql`state = 'failed', problems = ${problems}::text[]`)

type Fragment = ReturnType<typeof columns>

/** Changes a proposal that is as it was read; else returns what somebody else made of it. */
async function update(sql: Database, proposal: Proposal, changes: Fragment): Promise<Proposal> {
  const { projectId, organizationId, id, secondRunId } = proposal
  const [changed] = await sql<Proposal[]>`
    update version_proposals set ${changes}
    where id = ${id} and state = 'asked' and second_run_id is not distinct from ${secondRunId}
    returning ${columns(sql)}`
  return changed ?? (await findProposal(sql, { organizationId, projectId, id })) ?? proposal
}

/**
 * Adds the definition of a proposal to its project as a draft, and returns the draft's number; the
 * same one when it was accepted before. Raises `conflict` for one that cannot be accepted.
 */
export async function acceptProposal(sql: Queryable, key: ProposalKey): Promise<number> {
  return inTransaction(sql, async (tx) => {
    const [found] = await tx<Proposal[]>`
      select ${columns(tx)} from version_proposals where ${isProposal(tx, key)} for update`
    if (found?.acceptedNumber) return found.acceptedNumber
    if (found?.state !== 'proposed' || !found.definition) {
      throw new AppError('conflict', 'There is nothing to accept: it was discarded, or failed.')
    }
    const { number } = await createVersion(tx, key, parseCrewDefinition(found.definition))
    await tx`
      update version_proposals set state = 'accepted', accepted_number = ${number}
      where id = ${key.id}`
    return number
  })
}

/** Discards a proposal that was not accepted, and stops its run if that goes on. */
export async function discardProposal(sql: Queryable, key: ProposalKey): Promise<void> {
  const [discarded] = await sql<Pick<Proposal, 'runId' | 'secondRunId'>[]>`
    update version_proposals set state = 'discarded'
    where ${isProposal(sql, key)} and state in ('asked', 'proposed', 'failed')
    returning run_id, second_run_id`
  if (discarded) await stopRun(sql, discarded.secondRunId ?? discarded.runId)
}
