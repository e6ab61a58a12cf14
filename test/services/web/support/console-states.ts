import { createCaseSet } from '../../../../services/platform/evaluations/case-sets.ts'
import { addCases, listCases } from '../../../../services/platform/evaluations/cases.ts'
import {
  finishCase,
  takeCases,
} from '../../../../services/platform/evaluations/evaluation-queue.ts'
import { createEvaluation } from '../../../../services/platform/evaluations/evaluations.ts'
import { createGate } from '../../../../services/platform/evaluations/gates.ts'
import { closeEvaluations } from '../../../../services/platform/evaluations/scores.ts'
import { markOnline } from '../../../../services/platform/automations/automations.ts'
import { createInvitation } from '../../../../services/platform/people/invitations.ts'
import { ensureInternalCrew } from '../../../../services/platform/crews/internal-crews.ts'
import { createVersion } from '../../../../services/platform/projects/project-versions.ts'
import { startProposal } from '../../../../services/platform/projects/proposals.ts'
import { setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { storeArtifacts } from '../../../../services/platform/runs/run-artifacts.ts'
import { parkRun } from '../../../../services/platform/runs/run-approvals.ts'
import { completeRun, failRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { appendCrewLog } from '../../../../services/platform/crews/crew-logs.ts'
import { deploySource } from '../../../../services/platform/crews/crew-deployments.ts'
import { setCrewVariable } from '../../../../services/platform/crews/crew-variables.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import { definition } from '../../../support/crew.ts'
import { seedSource } from '../../../support/own-crew.ts'
import { recordEvent } from '../../../support/record-event.ts'
import { kickoff, stopRun } from '../../../../services/platform/runs/runs.ts'
import { ensureToolRepository, setYanked } from '../../../../services/platform/tools/tools.ts'
import { createWorkloadRule } from '../../../../services/platform/workloads/workload-rules.ts'
import { sendTestMessage } from '../../../../services/platform/webhooks/webhook-deliveries.ts'
import type { Platform } from './platform.ts'
import { makeWheel, storeWheel } from './wheels.ts'

export const MARKDOWN = `# Heat pumps in Northern Europe

Sales **rose by 12 %** in 2025. Three things stand out:

1. Subsidies moved from boilers to pumps.
2. Grid fees fell, see [the regulator](https://example.com/fees).
3. Installers are booked until *spring*.

### Shares by country

| Country | Share | Growth |
| --- | ---: | ---: |
| Norway | 60 % | +2 |
| Finland | 41 % | +5 |

> A cold winter is the best salesman.

\`\`\`json
{"model": "x", "confidence": 0.8}
\`\`\`
`

export const CALL = {
  name: 'refundOrder',
  tool: 'shop',
  description: 'Pays an order back.',
  parameters: { type: 'object' },
}
const JSON_OUTPUT =
  '{"topic":"Export","urgency":2,"id":12345678901234567890,"tags":["nightly",[],{}]}'

const at = (second: number): string => new Date(Date.now() - 30_000 + second * 1000).toISOString()

const EVENTS = [
  { type: 'crew_started', at: at(0), crew: 'Research' },
  {
    type: 'task_started',
    at: at(0.1),
    task: 'research',
    agent: 'researcher',
    agent_role: 'Researcher',
    description: 'Collect the five most important findings about heat pumps in Northern Europe.',
  },
  {
    type: 'llm_call',
    task: 'research',
    agent: 'researcher',
    request_model: 'gpt-4o-mini',
    provider: 'openai',
    response_model: 'gpt-4o-mini-2026-07-18',
    finish_reason: 'stop',
    attempts: 1,
    input_tokens: 812,
    output_tokens: 240,
    started_at: at(0.2),
    ended_at: at(9.4),
  },
  { type: 'task_completed', at: at(9.5), task: 'research', agent: 'researcher', output: MARKDOWN },
]

export type Ending = 'queued' | 'running' | 'waiting' | 'completed' | 'json' | 'failed' | 'stopped'

/** One run in each state that its page can have, by the state; with events where it began. */
export async function startRuns(platform: Platform): Promise<Record<Ending, string>> {
  const { sql, acme } = platform
  const start = async (): Promise<string> =>
    kickoff(sql, {
      deploymentId: acme.research.id,
      inputs: { topic: 'Heat pumps in Northern Europe' },
    })
  const begin = async (count: number) => {
    const id = await start()
    const [lease] = await takeRuns(sql, 1)
    if (!lease) throw new Error('nothing to take')
    for (const [position, event] of EVENTS.slice(0, count).entries()) {
      await recordEvent(sql, lease, { position, event })
    }
    await sql`update executions set started_at = now() - interval '30 seconds' where id = ${id}`
    return { id, lease }
  }
  const usage = { inputTokens: 1812, outputTokens: 940 }
  const completed = await begin(4)
  const report = { name: 'report.md', task: 'research', content: MARKDOWN }
  await storeArtifacts(sql, completed.lease, [report])
  await completeRun(sql, completed.lease, { output: MARKDOWN, usage })
  const json = await begin(3)
  await completeRun(sql, json.lease, { output: JSON_OUTPUT, usage })
  const failed = await begin(2)
  await failRun(sql, failed.lease, {
    code: 'llm_unauthorized',
    message: 'llm.example.com answered HTTP 401: the key is not valid.',
  })
  const stopped = await begin(1)
  await stopRun(sql, stopped.id)
  const waiting = await begin(3)
  const approval = { step: 'a'.repeat(32), task: 'research', output: MARKDOWN }
  await parkRun(sql, waiting.lease, approval)
  const another = await begin(3)
  await parkRun(sql, another.lease, { ...approval, output: JSON_OUTPUT, call: CALL })
  const running = await begin(3)
  const queued = await start()
  return {
    queued,
    running: running.id,
    waiting: waiting.id,
    completed: completed.id,
    json: json.id,
    failed: failed.id,
    stopped: stopped.id,
  }
}

/** The paths of the console with what is on them, for an organization that uses all of it. */
export function pathsOf(
  platform: Platform,
  runs: Record<Ending, string>,
  ids: Ids,
): [string, string][] {
  const automation = `/automations/${platform.acme.research.automationId}`
  return [
    ['dashboard', '/'],
    ['automations', '/automations'],
    ['a search that finds nothing', '/automations?q=nothing'],
    ['automation', automation],
    ['automation with a form from an earlier run', `${automation}?from=${runs.failed}`],
    ['automation without inputs', `/automations/${platform.acme.digest.automationId}`],
    ['automation, how to call it', `${automation}/integrate`],
    ['automation, its design', `${automation}/design`],
    ['automation, what is published', `${automation}/deployments`],
    ['automation, its settings', `${automation}/settings`],
    ['search', '/find?q=research'],
    ['search that finds nothing', '/find?q=nothing'],
    ['runs', '/executions'],
    ['runs of a status', `${automation}/executions?status=error`],
    ...Object.entries(runs).map(([state, id]): [string, string] => [
      `run ${state}`,
      `${automation}/executions/${id}`,
    ]),
    ['file of a run', `${automation}/executions/${runs.completed}/artifacts/report.md`],
    ['run raw', `${automation}/executions/${runs.completed}?view=raw`],
    ['run to stop', `${automation}/executions/${runs.running}/stop`],
    ['tokens', `${automation}/static-tokens`],
    ['schedules', `${automation}/schedules`],
    ['schedule', `${automation}/schedules/${ids.schedule}`],
    ['triggers', `${automation}/triggers`],
    ['trigger', `${automation}/triggers/${ids.trigger}`],
    ['delivery', `${automation}/triggers/${ids.trigger}/deliveries/${ids.event}`],
    ['workload rules', `${automation}/workload-rules`],
    ['workload rule', `${automation}/workload-rules/${ids.workloadRule}`],
    ['alerts', '/alerts'],
    ['alert', `/alerts/${ids.alert}`],
    ['erasures', '/erasures'],
    ['erasure', `/erasures/${ids.erasure}`],
    ['legal holds', '/legal-holds'],
    ['legal hold', `/legal-holds/${ids.legalHold}`],
    ['replays', `${automation}/replays`],
    ['replay', `${automation}/replays/${ids.replay}`],
    ['sets of cases', `${automation}/case-sets`],
    ['a set of cases', `${automation}/case-sets/${ids.caseSet}`],
    ['evaluations', `${automation}/evaluations`],
    ['gates', `${automation}/gates`],
    ['an evaluation', `${automation}/evaluations/${ids.evaluation}`],
    ['run of a replay', `${automation}/replays/${ids.replay}/runs/${ids.replayed}`],
    ['batches', `${automation}/batches`],
    ['new batch', `${automation}/new-batch`],
    ['batch', `${automation}/batches/${ids.batch}`],
    ['runs with a text', '/executions?text=pumps&trigger=api'],
    ['runs with chosen columns', '/executions?status=completed&columns=status,finished'],
    ['all tokens', '/static-tokens'],
    ['token', `/static-tokens/${ids.token}`],
    ['token to delete', `/static-tokens/${ids.token}/delete`],
    ['webhooks', `${automation}/webhooks`],
    ['webhook', `${automation}/webhooks/${ids.webhook}`],
    ['message of a webhook', `${automation}/webhooks/${ids.webhook}/deliveries/${ids.message}`],
    ...ids.crew,
    ...ids.packages,
    ['approvals', '/approvals'],
    ['projects', '/projects'],
    ['archived projects', '/projects?state=archived'],
    ...ids.designer,
    ['audit', '/audit'],
    ['audit that finds nothing', '/audit?who=nobody&since=2026-01-01'],
    ['import of a project', '/import-project'],
    ['budgets', '/budgets'],
    ['budgets of an automation', `${automation}/budgets`],
    ['LLM connections', '/llm-connections'],
    ['LLM connection', `/llm-connections/${ids.connection}`],
    ['OAuth settings', `/oauth-settings/${platform.acme.organizationId}`],
    ['Scores of traces', `/trace-score-rules/${platform.acme.organizationId}`],
    ['Regions', `/region-rules/${platform.acme.organizationId}`],
    ['OAuth clients', '/oauth-clients'],
    ['OAuth client', `/oauth-clients/${platform.acme.research.automationId}`],
    ['password', '/account/password'],
    ['account', '/account'],
    ['members', '/settings/organization/members'],
    ['organization', `/admin/organizations/${platform.acme.organizationId}`],
    ['user', `/admin/users/${platform.acme.userId}`],
    ['feature flag', '/admin/feature-flags/k8s_namespace_isolation'],
    ['member', `/settings/organization/members/${platform.acme.userId}`],
    ['member to remove', `/settings/organization/members/${platform.acme.userId}/delete`],
    ['invitations', '/settings/organization/invitations'],
    ['invitation', ids.invitation],
    ['not found', '/nothing'],
    ['not found in the frame', '/automations/nothing'],
  ]
}

interface Ids {
  readonly token: number
  readonly connection: number
  readonly schedule: number
  /** With a run that differs, of the kickoff id `replayed`. */
  readonly replay: string
  readonly replayed: string
  /** With a case that a version passes, and another one does not. */
  readonly caseSet: string
  readonly caseId: string
  readonly evaluation: string
  readonly gate: string
  /** Which is not started. */
  readonly batch: string
  readonly alert: string
  readonly erasure: string
  readonly legalHold: string
  readonly webhook: string
  readonly message: string
  readonly trigger: string
  readonly event: string
  readonly workloadRule: string
  /** The path of its link. */
  readonly invitation: string
  /** What each page of a project shows, and its path. */
  readonly designer: readonly [string, string][]
  readonly crew: [string, string][]
  readonly packages: readonly [string, string][]
  /** The file of a package that is not yanked. */
  readonly file: number
}

/** A token, a connection and a webhook of the organization. */
export async function seedSettings(platform: Platform): Promise<Ids> {
  const { sql, acme } = platform
  await platform.issueToken(acme, acme.research.id)
  const [{ id: token }] = await sql<[{ id: number }]>`select id from static_tokens limit 1`
  const [{ id: connection }] = await sql<[{ id: number }]>`
    insert into llm_connections (organization_id, name, provider, model, base_url)
    values (${acme.organizationId}, 'Own models', 'openai_compatible', 'llama-3.3-70b',
      'https://llm.example.com/v1') returning id`
  const { organizationId } = acme
  const limits = { tokensMax: 1000, usdMax: 5, unpriced: 'refuse' } as const
  const [{ id: schedule }] = await sql<[{ id: number }]>`
    insert into schedules (deployment_id, name, cron, time_zone, inputs, missed, next_at, last_at,
      last_problem)
    values (${acme.research.id}, 'nightly', '30 2 * * *', 'Europe/Berlin', '{"topic": "tides"}',
      'skip', now() + interval '1 hour', now(), 'topic is required.') returning id`
  for (const deploymentId of [null, acme.research.id]) {
    await setBudget(sql, { organizationId, deploymentId, period: 'day' }, limits)
  }
  const invitation = await createInvitation(sql, {
    organizationId,
    role: 'editor',
    note: 'Grace',
    createdBy: acme.userId,
  })
  return {
    token,
    connection,
    schedule,
    ...(await seedReplay(platform)),
    ...(await seedEvaluation(platform)),
    batch: await seedBatch(platform),
    alert: await seedAlert(platform),
    ...(await seedErasure(platform)),
    invitation: `/invitations/${invitation.token}`,
    ...(await seedWebhook(platform)),
    ...(await seedTrigger(platform)),
    workloadRule: await seedWorkloadRule(platform),
    designer: await seedDesigner(platform),
    crew: await seedCrew(platform),
    ...(await seedPackages(platform, token)),
  }
}

/** An evaluation of two cases, one of which fails. */
async function seedEvaluation({
  sql,
  acme,
}: Platform): Promise<Pick<Ids, 'caseSet' | 'caseId' | 'evaluation' | 'gate'>> {
  const automation = acme.research
  const checks = [{ type: 'contains' as const }]
  const set = await createCaseSet(sql, automation, { name: 'Support', checks })
  const names = ['Tides', 'Moon']
  await addCases(
    sql,
    set,
    names.map((name) => ({ name, inputs: { topic: name }, expected: name })),
  )
  const fields = { set: 'Support', version: 1, against: null, repeat: 1, newest: null }
  const evaluation = await createEvaluation(sql, automation, { ...fields, createdBy: 'Ada' })
  for (const taken of await takeCases(sql, names.length)) {
    const state = taken.expected === 'Moon' ? 'failed' : 'passed'
    await finishCase(sql, taken, { state, reason: 'contains: no', output: 'Tides', usd: 0.01 })
  }
  await closeEvaluations(sql)
  const [first] = await listCases(sql, set, { after: -1, limit: 1 })
  const rule = { atLeast: 90, keepsPassing: true, repeat: 1, withinMinutes: 60 }
  const gate = await createGate(sql, automation, { ...rule, set: 'Support', setId: set.id })
  return { caseSet: set.id, caseId: first?.id ?? '', evaluation: evaluation.id, gate: gate.id }
}

/** A replay of the runs that have ended, those completed of which ask something else. */
async function seedReplay({ sql, acme }: Platform): Promise<Pick<Ids, 'replay' | 'replayed'>> {
  const { organizationId, research } = acme
  const [{ replay }] = await sql<[{ replay: string }]>`
    insert into replays (organization_id, deployment_id, version_id, last, status, kickoff_ids,
      runs, created_by)
    values (${organizationId}, ${research.id}, ${research.projectVersionId}, 20, 'any', '{}', 5,
      'Ada') returning id as replay`
  const asked = { model: 'llama-3.3-70b', messages: [{ role: 'user', content: 'Write shortly.' }] }
  const step = { kind: 'llm', name: 'llama-3.3-70b', path: ['write', 'writer', 'llm', '0'] }
  const rows = await sql<{ runId: string }[]>`
    insert into replay_runs (replay_id, run_id, position, state, finished_at, reason, step, request)
    select ${replay}, id, row_number() over (order by status = 'completed' desc, id) - 1,
      case status when 'completed' then 'different' else 'impossible' end, now(),
      'llama-3.3-70b is asked something else.', ${sql.json(step)}, ${sql.json(asked)}
    from executions where deployment_id = ${research.id} and finished_at is not null
    returning run_id`
  return { replay, replayed: rows[0]?.runId ?? '' }
}

/** A batch of two rows that is not started. */
export async function seedBatch({ sql, acme }: Platform): Promise<string> {
  const { organizationId, research } = acme
  const [{ batch }] = await sql<[{ batch: string }]>`
    with made as (
      insert into batches (organization_id, deployment_id, version_id, name, content_sha256, rows,
        waiting, trigger, starter_id, starter_name)
      values (${organizationId}, ${research.id}, ${research.projectVersionId}, 'rows.csv', '', 2,
        2, 'console', 'person:1', 'Ada') returning id)
    insert into batch_rows (batch_id, position, key, inputs)
    select id, place, place, '{"topic": "pumps"}' from made, generate_series(1, 2) place
    returning batch_id as batch`
  return batch
}

/** Has batches wait whose forecast is known, and a budget to reserve it from. */
export async function makeReservable({ sql, acme }: Platform): Promise<void> {
  await sql`
    insert into executions (deployment_id, project_version_id, inputs, status, output, started_at,
      finished_at, usage)
    select b.deployment_id, b.version_id, '{}', 'completed', '', now(), now(),
      '{"inputTokens": 10, "outputTokens": 0}'
    from (select distinct deployment_id, version_id from batches) b, generate_series(1, 20)`
  await sql`
    insert into budgets (organization_id, period, tokens_max)
    values (${acme.organizationId}, 'month', 1000000) on conflict do nothing`
  await sql`delete from batch_reservations`
  await sql`update batches set waiting = greatest(waiting, 1), stopped_at = null`
}

/** Has the first row of each batch fail, and pauses them. */
export const failBatches = (sql: Platform['sql']) => sql`
  with failed as (
    insert into executions (deployment_id, inputs, status, error, finished_at, batch_id)
    select deployment_id, '{}', 'error', '{"code": "a", "message": "b"}', now(), id from batches
    returning id, batch_id),
  started as (
    update batch_rows r set inputs = null, run_id = f.id
    from failed f where r.batch_id = f.batch_id and r.position = 1)
  update batches set waiting = waiting - 1, next_at = null`

/** An alert that fires, with the runs that did it. */
async function seedAlert({ sql, acme }: Platform): Promise<string> {
  const [{ alert }] = await sql<[{ alert: string }]>`
    insert into alerts (organization_id, deployment_id, name, watches, window_minutes, threshold,
      resolves_below, for_minutes, minimum, mail, state, changed_at, value, samples, looked_at)
    values (${acme.organizationId}, ${acme.research.id}, 'Research is slow', 'duration_p95', 60,
      30, 20, 5, 10, ${[acme.email]}, 'firing', now(), 41.25, 12, now()) returning id as alert`
  await sql`
    insert into alert_changes (alert_id, state, at, value, samples, watches, threshold, runs)
    select ${alert}, 'firing', now(), 41.25, 12, 'duration_p95', 30, jsonb_agg(jsonb_build_object(
      'kickoff_id', id, 'automation_id', ${acme.research.automationId}::text))
    from executions where deployment_id = ${acme.research.id}`
  return alert
}

/** An erasure that found a run and its trace, and a hold. */
async function seedErasure({ sql, acme }: Platform): Promise<Pick<Ids, 'erasure' | 'legalHold'>> {
  const [{ erasure }] = await sql<[{ erasure: string }]>`
    insert into erasures (organization_id, name, kind, sealed, state, created_by)
    values (${acme.organizationId}, 'Request 7', 'text', '\\x00', 'planned', 'Ada')
    returning id as erasure`
  await sql`
    insert into erasure_items (erasure_id, kind, item)
    select ${erasure}, kind, id from (
      select id from executions where deployment_id = ${acme.research.id} limit 1) run,
      unnest(array['run', 'trace']) as kind`
  const [{ legalHold }] = await sql<[{ legalHold: string }]>`
    insert into legal_holds (organization_id, name, kind, value, patterns, problem, created_by)
    values (${acme.organizationId}, 'Case 1', 'text', 'contract', '{%contract%}',
      'The trace collector does not answer.', 'Ada') returning id as legal_hold`
  return { erasure, legalHold }
}

/** A webhook that is paused, with a message that failed. */
async function seedWebhook({ sql, acme }: Platform): Promise<Pick<Ids, 'webhook' | 'message'>> {
  const [{ webhook }] = await sql<[{ webhook: string }]>`
    insert into webhooks (id, deployment_id, url, event_types, sealed_key, failing_since,
      paused_at, pause_reason, sealed_previous_key, previous_key_until)
    values (gen_random_uuid(), ${acme.research.id}, 'https://crm.example.com/hooks', '{*}', '',
      now(), now(), 'The receiver answered HTTP 410 Gone: it wants no more messages.', '',
      now() + interval '1 hour')
    returning id as webhook`
  const { automationId } = acme.research
  const message = await sendTestMessage(sql, { webhookId: webhook, automationId })
  await sql`update webhook_messages set state = 'failed', ended_at = now() where id = ${message}`
  await sql`
    insert into webhook_attempts (message_id, number, status, problem, duration_ms)
    values (${message}, 1, 410, 'It answered HTTP 410.', 25)`
  return { webhook, message }
}

/** A trigger that is paused, with a delivery in each state. */
async function seedTrigger({ sql, acme }: Platform): Promise<Pick<Ids, 'trigger' | 'event'>> {
  const [{ trigger }] = await sql<[{ trigger: string }]>`
    insert into triggers (id, deployment_id, name, scheme, filter, inputs, sealed_key, paused_at,
      pause_reason, sealed_previous_key, previous_key_until)
    values (gen_random_uuid(), ${acme.research.id}, 'Paid invoices', 'stripe',
      '@.body.type == "invoice.paid"', '{"topic": "{{ $.body.topic }}"}', '', now(),
      'The filter and the mapping take longer than 500 ms.', '', now() + interval '1 hour')
    returning id as trigger`
  const [, , { event }] = await sql<[object, object, { event: string }]>`
    insert into trigger_deliveries
      (trigger_id, delivery_id, state, problem, run_id, headers, payload)
    values
      (${trigger}, 'evt_1', 'failed', 'topic is required.', null, '{}', null),
      (${trigger}, 'evt_2', 'skipped', 'The filter leaves it out.', null, '{}', '{}'),
      (${trigger}, 'evt_3', 'started', null, gen_random_uuid(),
        '{"user-agent": "Stripe/1.0"}', '{"type": "invoice.paid", "topic": "tides"}')
    returning id::text as event`
  return { trigger, event }
}

/** A rule for the jobs of a repository. */
async function seedWorkloadRule({ sql, acme }: Platform): Promise<string> {
  const { id } = await createWorkloadRule(sql, acme.research.id, {
    name: 'Site',
    issuer: 'https://token.actions.githubusercontent.com',
    jwksUrl: null,
    claims: { sub: 'repo:acme/site:ref:refs/heads/main' },
    scopes: ['kickoff', 'read'],
    minutes: 15,
    isReusable: false,
  })
  return id
}

/** An automation that is made from sources: one is online, the newer one is being built. */
async function seedCrew({ sql, acme }: Platform): Promise<[string, string][]> {
  const { organizationId, userId } = acme
  const empty = await createOwnAutomation(sql, { organizationId, name: 'New crew' })
  const own = await createOwnAutomation(sql, { organizationId, name: 'Own crew' })
  const key = { deploymentId: own.id, createdBy: userId }
  await setCrewVariable(sql, { ...key, name: 'REGION' }, { value: 'north' })
  await setCrewVariable(sql, { ...key, name: 'TOKEN' }, { sealedValue: Buffer.alloc(40) })
  for (const text of ['first', 'second']) {
    const source = await seedSource(sql, acme, { text })
    const { id, number } = await deploySource(sql, key, source.id)
    const log = { crewDeploymentId: id, stream: 'build' } as const
    await appendCrewLog(sql, log, '\u001b[32mResolved\u001b[0m 12 packages\n')
    await sql`
      update crew_deployments set
        state = ${number === 1 ? 'Crew is Online' : 'Building'}, reason = 'Installing packages.',
        url = 'http://127.0.0.1:9', online_at = ${number === 1 ? new Date() : null}
      where id = ${id}`
  }
  const path = `/automations/${own.automationId}`
  return [
    ['new automation', '/new-automation'],
    ['automation from source', path],
    ['deployments', `${path}/deployments`],
    ['no deployments', `/automations/${empty.automationId}/deployments`],
    ['deployment that goes on', `${path}/deployments/2`],
    ['deployment', `${path}/deployments/1`],
    ['settings of a crew', `${path}/crew-settings`],
    ['environment', `${path}/environment`],
    ['no variables', `/automations/${empty.automationId}/environment`],
    ['automation to delete', `${path}/delete`],
  ]
}

/** A package with a file that is yanked and one that is not. */
async function seedPackages({ sql, acme }: Platform, uploadedBy: number) {
  const repositoryId = await ensureToolRepository(sql, acme.organizationId)
  const key = { repositoryId, uploadedBy }
  await storeWheel(sql, key, makeWheel('tides', '1.0', '>=3.10'))
  await setYanked(sql, { repositoryId, filename: 'tides-1.0-py3-none-any.whl' }, 'broken')
  await storeWheel(sql, key, makeWheel('tides', '2.0'))
  const [{ file }] = await sql<[{ file: number }]>`
    select id as file from tools where repository_id = ${repositoryId} and version = '2.0'`
  const packages: [string, string][] = [
    ['tool packages', '/tools-packages'],
    ['public tool packages', '/tools-packages?of=public'],
    ['a tool package', '/tools-packages/organization/tides'],
    ['a file to yank', `/tools-packages/files/${file}/yank`],
  ]
  return { file, packages }
}

/** A project with a version of each kind, and a proposal in each state. */
async function seedDesigner({ sql, acme }: Platform): Promise<[string, string][]> {
  const { organizationId, userId } = acme
  const [{ projectId }] = await sql<[{ projectId: number }]>`
    select project_id from project_versions where id = ${acme.research.projectVersionId}`
  const key = { organizationId, projectId }
  const path = `/projects/${projectId}`
  const { number } = await createVersion(sql, key, definition)
  const assistant = await ensureInternalCrew(sql, 'assistant')
  await markOnline(sql, assistant.id, 'http://127.0.0.1:9')
  const ask = async (settle?: (run: LeasedRun) => Promise<unknown>): Promise<string> => {
    const asked = { ...key, request: 'Add sources', model: 'x', models: ['x'], createdBy: userId }
    const proposal = await startProposal(sql, { ...asked, base: { number, definition } })
    // Others wait longer.
    await sql`update executions set available_at = now() - interval '1 day'
      where id = ${proposal.runId}`
    const [lease] = settle ? await takeRuns(sql, 1) : []
    if (lease) await settle?.(lease)
    return `${path}/proposals/${proposal.id}`
  }
  const answer = (output: string) => async (run: LeasedRun) =>
    completeRun(sql, run, { output, usage: { inputTokens: 1, outputTokens: 1 } })
  const failure = { code: 'llm_rejected', message: 'llm.example.com answered HTTP 401.' }
  return [
    ['a project', path],
    ['a published version', `${path}/versions/1`],
    ['a draft', `${path}/versions/${number}`],
    ['a new version', `${path}/new-version`],
    ['a proposal', await ask(answer(JSON.stringify({ ...definition, name: 'Better' })))],
    ['a proposal that failed', await ask((run) => failRun(sql, run, failure))],
    ['a proposal that is asked for again', await ask(answer('I would rather not.'))],
    ['a proposal that is asked for', await ask()],
  ]
}
