import type { Context } from 'hono'
import { isUuid } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { writeResults } from '../../../platform/batches/batch-results.ts'
import { findBatch } from '../../../platform/batches/batches.ts'
import { ROW_FORMATS } from '../../../platform/batches/read-rows.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { sendFile } from '../../http/send-file.ts'
import { streamParts } from '../../http/stream-parts.ts'

/**
 * Sends the results of the batch of the path as a file, in the `format` of the query. Raises
 * `not_found` and `invalid_request`.
 */
export async function sendResults(
  c: Context,
  sql: Database,
  { id: deploymentId }: Pick<Automation, 'id'>,
): Promise<Response> {
  const id = c.req.param('batchId') ?? ''
  const batch = isUuid(id) ? await findBatch(sql, { id, deploymentId }) : undefined
  if (!batch) throw new AppError('not_found', 'This automation has no such batch.')
  const given = c.req.query('format') ?? 'jsonl'
  const format = ROW_FORMATS.find((each) => each === given)
  if (!format) throw new AppError('invalid_request', `format is ${ROW_FORMATS.join(' or ')}.`)
  const content = streamParts(writeResults(sql, id, format))
  return sendFile(c, { name: `batch-${id}.${format}`, content })
}
