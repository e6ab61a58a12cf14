import { html } from 'hono/html'
import type { OutsideNow } from '../../../platform/connections/outside-now.ts'
import { count } from '../frame/format.ts'
import { emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const SHOWN_MAX = 200

const KINDS: Readonly<Record<OutsideNow['kind'], string>> = {
  llm_connection: 'LLM connection',
  connection: 'Connection',
  webhook: 'Webhook',
  trace_forward: 'Trace forward',
  version: 'Version',
  source: 'Crew from source',
}

/** What is outside of the rule of an organization, with the way to each. */
export const outsideSection = (outside: readonly OutsideNow[]): Html =>
  html`<section class="card flush" aria-labelledby="outside">
    <div class="card-head"><h2 id="outside">Outside now</h2></div>
    ${
      outside.length === 0
        ? emptyState('check', 'Nothing is outside', 'All that runs keeps to these regions.')
        : listTable(
            'Outside now',
            ['Name', 'What', 'Why'],
            outside.slice(0, SHOWN_MAX).map(
              (each) =>
                html`<tr>
                  <td class="lead"><a class="break" href="${pathOf(each)}">${each.name}</a></td>
                  <td data-label="What">${KINDS[each.kind]}</td>
                  <td data-label="Why" class="row-wide"><span class="break">${each.why}</span></td>
                </tr>`,
            ),
          )
    }
    ${
      outside.length > SHOWN_MAX
        ? html`<p class="hint">These are ${SHOWN_MAX} of ${count(outside.length)}.</p>`
        : ''
    }
  </section>`

function pathOf({ kind, id, automationId }: OutsideNow): string {
  if (kind === 'llm_connection') return `/llm-connections/${id}`
  if (kind === 'trace_forward') return `/trace-forwards/${id}`
  if (kind === 'connection') return `/connections/${id}`
  return `/automations/${automationId}${kind === 'webhook' ? `/webhooks/${id}` : ''}`
}
