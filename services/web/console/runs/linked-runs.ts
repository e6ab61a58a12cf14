import { html } from 'hono/html'
import type { LinkedRun } from '../../../platform/runs/called-runs.ts'
import { shortId } from '../frame/format.ts'
import { runPill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The run that started this one by a tool, and those that this one started. */
export const linkedSection = (linked: readonly LinkedRun[]): Html | string =>
  linked.length === 0
    ? ''
    : html`<section class="card" aria-labelledby="linked">
        <div class="card-head"><h2 id="linked">Linked runs</h2></div>
        <dl class="facts">
          ${linked.map(
            ({ id, automationId, automationName, status, isCaller }) =>
              html`<dt>${isCaller ? 'Started by' : 'Started'}</dt>
                <dd>
                  <a href="/automations/${automationId}/executions/${id}"
                    >${automationName} <span class="mono">${shortId(id)}</span></a
                  >
                  ${runPill(status)}
                </dd>`,
          )}
        </dl>
      </section>`
