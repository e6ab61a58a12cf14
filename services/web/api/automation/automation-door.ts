import { findCallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { CallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import type { Door } from './bearer.ts'
import { oauthBearer } from './oauth-bearer.ts'
import { staticBearer } from './static-bearer.ts'
import { workloadBearer } from './workload-bearer.ts'

/** Creates the doors of paths that name an automation, for calls that take all of some scopes. */
export function createAutomationDoors(sql: Database, gate: Gate) {
  const oauth = oauthBearer({ sql, gate, now: Date.now })
  return (...scopes: readonly TokenScope[]): Door<CallableAutomation, Automation> => ({
    schemes: [staticBearer(sql, scopes), workloadBearer(sql, scopes), oauth],
    find: (c) => findCallableAutomation(sql, c.req.param('automationId') ?? ''),
    factsOf: (callable) => ({
      automation_id: callable?.automation.automationId,
      organization_id: callable?.automation.organizationId,
    }),
    variable: 'automation',
  })
}
