import type { Context } from 'hono'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import type { AuthorizedCall } from '../../context.ts'
import { RETRY_AFTER_SECONDS } from './api-route.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { automationUrl } from './automation-urls.ts'
import { readIdempotencyKey, readKickoff } from './kickoff-request.ts'

/** The longest body of a call that starts a run. */
export const BODY_BYTES_MAX = 256 * 1024

/** Starts a run. */
export const kickoffRoute: ApiRoute = {
  method: 'POST',
  path: '/kickoff',
  async answer(c, deps) {
    const { sql, queue, insert } = deps
    const { automation } = c.var
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const given = readKickoff(await readJson(c.req.raw, BODY_BYTES_MAX))
    const definition = await getDefinition(sql, automation)
    const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
    const starter = toStarter(c.var.actor, 'api')
    const admit = queue.of(automation.organizationId)
    const by = { idempotencyKey, starter, admit, insert }
    const id = await kickoff(sql, { deploymentId: automation.id, ...prepared, ...by })
    return startedRun(c, deps, id)
  },
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
  const started = { kickoff_id: id, status: 'queued', status_url: statusUrl }
  return c.json({ ...started, ...(isOffline ? { message } : {}) }, 202, {
    location: statusUrl,
    'retry-after': RETRY_AFTER_SECONDS,
  })
}
