import { createHash, randomUUID } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { getDefinition } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { createBatch } from '../../../platform/batches/create-batch.ts'
import { ROWS_BYTES_MAX } from '../../../platform/batches/read-rows.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { batchEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireCsrfToken, requireSameOrigin, takeForm } from '../../gate/callers/forms.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { createTurns } from '../../http/file-uploads.ts'
import { readMultipart } from '../../http/multipart.ts'
import type { MultipartForm } from '../../http/multipart.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { sendResults } from './send-results.ts'

const LIMIT = {
  bytesMax: ROWS_BYTES_MAX + 1024 * 1024,
  tooLarge: () =>
    new AppError('payload_too_large', `A batch has at most ${ROWS_BYTES_MAX} bytes.`, {
      headers: { connection: 'close' },
    }),
}

/** Serves what stands beside the pages of batches: the form of a new one, and results as a file. */
export function batchPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps)
  const audited = createAudited(sql)
  const takeTurn = createTurns()
  const list = '/automations/:automationId/batches'

  const readView = async (c: Context<SignedIn>) => {
    const automation = await getOwnAutomation(c, sql)
    const definition = await getDefinition(sql, automation)
    return { session: c.var.session, automation, definition, fields: inputFields(definition) }
  }

  room.page('editor', '/automations/:automationId/new-batch', async (c) =>
    c.html(newBatchPage(await readView(c))),
  )

  room.upload('editor', list, async (c) => {
    requireSameOrigin(c, config.PLATFORM_BASE_URL)
    const view = await readView(c)
    const { automation, definition } = view
    return takeTurn(async () => {
      const form = await readMultipart(c.req.raw, LIMIT)
      requireCsrfToken(form.fields, c.var.session)
      const starter = toStarter(c.var.actor, 'console')
      const sent = { automation, definition, starter, isPaused: true, ...readRowsForm(form) }
      const made = await takeForm(async () =>
        audited(
          c.var,
          (tx) => createBatch(tx, sent),
          (batch) => batchEntry(sent, batch),
        ),
      )
      if (typeof made !== 'string') {
        return c.redirect(`/automations/${automation.automationId}/batches/${made.id}`, 303)
      }
      const text = form.fields.get('text') ?? ''
      return c.html(newBatchPage({ ...view, text, problem: made }), 422)
    })
  })

  room.page('viewer', `${list}/:batchId/results`, async (c) =>
    sendResults(c, sql, await getOwnAutomation(c, sql)),
  )

  return room.routes
}

/** A file, or what was pasted; it is JSONL when it is named or begins so. */
function readRowsForm({ fields, files }: MultipartForm) {
  const file = files.find(({ field }) => field === 'file')
  const content = file ? Buffer.concat(file.chunks) : Buffer.from(fields.get('text') ?? '')
  const hash = createHash('sha256').update(content).digest('hex')
  const keyName = fields.get('key')?.trim() || 'id'
  const isJson = file
    ? /\.(jsonl|ndjson|json)$/i.test(file.name)
    : /^\s*\{/.test(content.toString('utf8', 0, 100))
  return {
    content,
    format: isJson ? ('jsonl' as const) : ('csv' as const),
    keyName,
    name: file?.name.replaceAll('\0', '').slice(0, 100) || 'Pasted rows',
    idempotencyKey: startOnceKey(fields.get('start_once'), { keyName, hash }),
  }
}

interface NewBatchPage {
  readonly session: Session
  readonly automation: Automation
  readonly fields: readonly InputField[]
  /** What was pasted, and what is wrong with it. */
  readonly text?: string
  readonly problem?: string
}

/** The form of a new batch: a file, or pasted text. */
function newBatchPage({ session, automation, fields, text, problem }: NewBatchPage): Html {
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
          <p class="hint under" id="key-hint">
            Without such a column, rows are known by their numbers.
          </p>
          <div class="buttons"><button class="button primary">Check and forecast</button></div>
          <p class="hint">Nothing is started yet.</p>
        </form>
      </div>`,
  )
}
