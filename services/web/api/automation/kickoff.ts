import type { Context } from 'hono'
import { reserveRun } from '../../../platform/batches/reserve-batch.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { AuthorizedCall } from '../../context.ts'
import { RETRY_AFTER_SECONDS, starting } from './api-route.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { readFlag } from './read-flag.ts'
import { automationUrl } from './automation-urls.ts'
import * as s from '../openapi/parts.ts'
import { kickoffBody, readIdempotencyKey } from './kickoff-request.ts'

const kickoffDocument = s.named(
  'Kickoff',
  s.perhaps(
    {
      kickoff_id: s.uuid,
      status: { ...s.text, const: 'queued' },
      status_url: { ...s.text, format: 'uri' },
      message: s.say(s.text, 'Why the run waits; absent while the automation is online.'),
    },
    ['kickoff_id', 'status', 'status_url'],
  ),
)
/** The answer for a run that was queued. */
export const started = {
  202: [
    'The run is queued, durably.',
    kickoffDocument,
    { ...s.location('Where its status is.'), ...s.retryAfter },
  ],
} as const
/** What is wrong with a call that starts no run. */
export const badKickoff = {
  400: 'The body is not JSON, or the query or the Idempotency-Key is malformed.',
}

/** Starts a run. */
export const kickoffRoute: ApiRoute = {
  method: 'POST',
  path: '/kickoff',
  operation: starting('kickoff', 'Start a run', {
    description: 'Queues a run and answers at once; ask `status_url` for its progress.',
    parameters: [
      s.idempotencyKey,
      s.flag('reserve', 'Reserves what 95 % of such runs take in the budgets, or starts none.'),
    ],
    body: kickoffBody,
    ...started,
    ...badKickoff,
    409:
      'The automation is being deleted: it takes no more runs. Or nothing could be reserved: a ' +
      'budget has no room, there is none, or what the run takes is unknown.',
    422:
      'An input is missing, unknown, of another type or not allowed (details.missing_inputs, ' +
      'unknown_inputs, invalid_inputs), a key is unknown, or the Idempotency-Key was used ' +
      'with other inputs.',
  }),
  async answer(c, deps) {
    const { sql, queue, insert } = deps
    const { automation } = c.var
    const key = readIdempotencyKey(c.req.header('idempotency-key'))
    const { inputs: given } = await kickoffBody.read(c)
    const definition = await getDefinition(sql, automation)
    const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
    const starter = toStarter(c.var.actor, 'api')
    const admit = queue.of(automation.organizationId)
    const by = { idempotencyKey: key, starter, admit, insert, onQueued: readReserve(c) }
    const id = await kickoff(sql, { deploymentId: automation.id, ...prepared, ...by })
    return startedRun(c, deps, id)
  },
}

/** Reads whether the run is to reserve what it takes. Raises `invalid_request`. */
function readReserve(c: Context<AuthorizedCall>) {
  if (!readFlag(c.req.query('reserve'), 'reserve')) return undefined
  const { organizationId, id: deploymentId } = c.var.automation
  return (tx: Queryable, id: string) => reserveRun(tx, { organizationId, deploymentId, id })
}

/** Answers for a run that was queued, and says where its status is. */
export function startedRun(
  c: Context<AuthorizedCall>,
  { config }: ApiRouteDeps,
  id: string,
): Response {
  const { automation, wide } = c.var
  wide['kickoff_id'] = id
  const statusUrl = `${automationUrl(config, automation.automationId)}/status/${id}`
  const isOffline = automation.status === 'Crew is Offline'
  const message =
    `The run waits: the automation is offline. ${automation.statusReason ?? ''}`.trim()
  const queued = { kickoff_id: id, status: 'queued', status_url: statusUrl }
  return c.json({ ...queued, ...(isOffline ? { message } : {}) }, 202, {
    location: statusUrl,
    'retry-after': RETRY_AFTER_SECONDS,
  })
}
