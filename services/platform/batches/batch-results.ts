import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { Failure, RunStatus, Usage } from '../runs/runs.ts'
import { toCsv } from './csv.ts'
import type { RowFormat } from './read-rows.ts'

const PAGE_ROWS = 200

/** A row with what became of it. */
export interface RowResult {
  readonly row: number
  readonly key: string
  /** `deleted`: its run was. */
  readonly status: RunStatus | 'not_started' | 'deleted'
  readonly runId: string | null
  readonly output: string | null
  readonly error: Failure | null
  readonly usage: Usage | null
  readonly queuedAt: Date | null
  readonly finishedAt: Date | null
}

const selectResults = (sql: Queryable, where: ReturnType<Queryable>, limit: number) => sql<
  RowResult[]
>`
  select r.position as row, r.key, r.run_id, e.output, e.error, e.usage, e.queued_at, e.finished_at,
    case when r.run_id is null then 'not_started' else coalesce(e.status, 'deleted') end as status
  from batch_rows r left join executions e on e.id = r.run_id
  where ${where} order by r.position limit ${limit}`

/** Returns the first rows of a batch whose runs failed. */
export const listFailedRows = (sql: Queryable, batchId: string, limit: number) =>
  selectResults(sql, sql`r.batch_id = ${batchId} and e.status = 'error'`, limit)

const COLUMNS = [
  'row',
  'key',
  'status',
  'kickoff_id',
  'output',
  'error_code',
  'error_message',
  'input_tokens',
  'output_tokens',
  'queued_at',
  'finished_at',
] as const

const encoder = new TextEncoder()

/** Writes what became of each row, a page of them at a time. */
export async function* writeResults(
  sql: Database,
  batchId: string,
  format: RowFormat,
): AsyncGenerator<Uint8Array> {
  if (format === 'csv') yield encoder.encode(toCsv(COLUMNS))
  for (let after = 0; ;) {
    const page: RowResult[] = await selectResults(
      sql,
      sql`r.batch_id = ${batchId} and r.position > ${after}`,
      PAGE_ROWS,
    )
    yield encoder.encode(
      page
        .map(format === 'csv' ? toLine : (result) => `${JSON.stringify(factsOf(result))}\n`)
        .join(''),
    )
    const last = page.at(-1)
    if (!last || page.length < PAGE_ROWS) return
    after = last.row
  }
}

const factsOf = ({ runId, error, usage, queuedAt, finishedAt, ...same }: RowResult) => {
  const { code = null, message = null } = error ?? {}
  const { inputTokens = null, outputTokens = null } = usage ?? {}
  return {
    ...same,
    kickoff_id: runId,
    error_code: code,
    error_message: message,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    queued_at: timeOf(queuedAt),
    finished_at: timeOf(finishedAt),
  }
}

const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null

function toLine(result: RowResult): string {
  const facts = factsOf(result)
  return toCsv(COLUMNS.map((name) => facts[name]))
}
