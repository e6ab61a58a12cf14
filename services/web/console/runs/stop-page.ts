import type { Automation } from '../../../platform/automations/automations.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { runPath } from '../frame/addresses.ts'
import type { Html } from '../frame/parts.ts'
import { shortId } from '../frame/format.ts'
import { wayTo } from './crumbs.ts'

/** The question before a run is stopped. */
export function stopPage(session: Session, automation: Automation, run: Run): Html {
  const back = runPath(automation, run)
  return confirmPage({
    session,
    crumbs: [...wayTo(automation), { path: back, name: shortId(run.id) }],
    question: 'Stop this run?',
    consequence:
      'It ends without an output, and the work of its crew so far is lost. ' +
      'You can run it again with the same inputs.',
    action: `${back}/stop`,
    verb: 'Stop',
    back,
  })
}
