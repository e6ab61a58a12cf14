import type { Deployment } from '../../platform/deployments.ts'
import type { Execution } from '../../platform/executions.ts'
import type { Session } from '../../platform/sessions.ts'
import { confirmPage } from './confirm-page.ts'
import { executionPath } from './execution-page.ts'
import type { Html } from './parts.ts'

/** Asks before a run is stopped. */
export function stopPage(session: Session, automation: Deployment, execution: Execution): Html {
  const { automationId, name } = automation
  const back = executionPath(automation, execution)
  return confirmPage({
    session,
    crumbs: [
      { path: '/automations', name: 'Automations' },
      { path: `/automations/${automationId}`, name },
      { path: back, name: execution.id.slice(0, 8) },
    ],
    question: 'Stop this execution?',
    consequence:
      'It ends without an output, and what its crew has done so far is lost. You can run it again with the same inputs.',
    action: `${back}/stop`,
    verb: 'Stop',
    back,
  })
}
