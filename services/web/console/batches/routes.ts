import { createHash } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { createBatch } from '../../../platform/batches/create-batch.ts'
import { ROWS_BYTES_MAX } from '../../../platform/batches/read-rows.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { AppError } from '../../../shared/errors.ts'
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
import { newBatchPage } from './new-page.ts'
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
