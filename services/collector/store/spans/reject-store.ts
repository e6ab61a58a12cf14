import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { RowIds } from './sorted-rows.ts'

/** A row that the database refused. */
interface Reject extends RowIds {
  readonly sqlstate: string
  readonly reason: string
  readonly rowBytes: Buffer
}

const MAX_ROW_BYTES = 1 << 20

/** Keeps a refused row for people to look at; a very large one is cut. */
export async function storeReject(session: Session, reject: Reject): Promise<void> {
  const { traceId, spanId, organization, sqlstate, reason, rowBytes } = reject
  const bytes = rowBytes.toString('hex', 0, MAX_ROW_BYTES)
  await session.query(`
    insert into span_rejects (trace_id, span_id, organization, sqlstate, reason, row_bytes)
    values (${quote(traceId.toString('hex'))}, ${spanId.readBigInt64BE(0)}, ${quote(organization)},
      ${quote(sqlstate)}, ${quote(reason)}, decode('${bytes}', 'hex'))`)
}
