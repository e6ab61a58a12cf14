import type { Hono } from 'hono'
import { findWorkloadRule } from '../../../platform/workloads/workload-rules.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { automationUrl } from '../../api/automation/automation-urls.ts'
import { explainToken } from '../../gate/access-token/explain-token.ts'
import type { OpenedGate } from '../../gate/access-token/open-gate.ts'
import { workloadContext } from '../../gate/access-token/workload-rules.ts'
import { workloadRules } from '../../nouns/workload-rules.ts'
import { resourcePage } from '../../resources/page-routes.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { explainFormCard, readPasted } from '../frame/explain-section.ts'
import type { ExplainedToken } from '../frame/explain-section.ts'

const PATH = '/automations/:automationId/workload-rules/:workloadRuleId'

/** Explains tokens of workloads on the page of a rule. */
export function workloadRuleRoutes(
  deps: WebDeps,
  { keys }: Pick<OpenedGate, 'keys'>,
): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps)
  const show = workloadRules.read(resourcePage(deps))

  room.form('admin', `${PATH}/explain`, async (c) => {
    const { id: deploymentId, organizationId, automationId } = await getOwnAutomation(c, sql)
    const id = c.req.param('workloadRuleId') ?? ''
    const rule = isUuid(id) ? await findWorkloadRule(sql, { id, deploymentId }) : undefined
    if (!rule) throw new AppError('not_found', 'This automation has no such workload rule.')
    const audience = automationUrl(config, automationId)
    const context = workloadContext({ ...rule, organizationId, audience })
    const token = readPasted(c.var.form)
    const explained: ExplainedToken =
      token === undefined
        ? { problem: 'Paste one token of the workload.' }
        : { explanation: await explainToken(token, context, { keys, now: Date.now }) }
    if ('problem' in explained) c.status(422)
    const path = `/automations/${automationId}/workload-rules/${id}`
    const view = { session: c.var.session, path, explained }
    return show(c, { below: () => explainFormCard(view, { label: 'Token of the workload' }) })
  })

  return room.routes
}
