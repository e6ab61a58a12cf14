import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

interface NewBatchPage {
  readonly session: Session
  readonly automation: Automation
  readonly fields: readonly InputField[]
  /** What was pasted, and what is wrong with it. */
  readonly text?: string
  readonly problem?: string
}

/** The form of a new batch: a file, or pasted text. */
export function newBatchPage({ session, automation, fields, text, problem }: NewBatchPage): Html {
  const path = `/automations/${automation.automationId}`
  const names = fields.map(({ name, required }) => (required ? name : `${name} (optional)`))
  return page(
    { title: 'New batch', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a><a href="${path}">${automation.name}</a
        ><a href="${path}/batches">Batches</a>
      </nav>
      <div class="page-head"><h1>New batch</h1></div>
      <div class="card narrow">
        ${problemBox(problem)}
        <form method="post" action="${path}/batches" enctype="multipart/form-data" class="stack">
          ${csrfField(session.csrfToken)}
          <input type="hidden" name="start_once" value="${randomUUID()}" />
          <label
            >File
            <input name="file" type="file" accept=".csv,.jsonl" aria-describedby="rows-hint" />
          </label>
          <p class="hint under" id="rows-hint">
            CSV with a header, or JSONL, in UTF-8; at most 100,000 rows and 32 MiB. Each row is a
            run. Inputs: ${names.join(', ') || 'none'}.
          </p>
          <label
            >Or paste the rows
            <textarea name="text" rows="8" class="mono">${text ?? ''}</textarea>
          </label>
          <label
            >Column that identifies a row
            <input name="key" value="id" maxlength="100" aria-describedby="key-hint" />
          </label>
          <p class="hint under" id="key-hint">Without such a column, its number does.</p>
          <div class="buttons"><button class="button primary">Check and forecast</button></div>
          <p class="hint">Nothing is started yet.</p>
        </form>
      </div>`,
  )
}
