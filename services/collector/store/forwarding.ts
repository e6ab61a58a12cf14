import { deadline } from '../../shared/deadline.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'

/** An organization whose spans are forwarded. */
interface Needed {
  readonly organization: string
  /** The first row of `spans_to_forward` that is needed still. */
  readonly first: bigint
}

/** The organizations whose spans are forwarded, on a connection of its own. */
export interface Forwarding {
  /**
   * Says which organizations these are, all at once: spans of theirs are noted from then on, and
   * what no one needs is forgotten. Raises `timeout` and errors of the database.
   */
  declare(needed: readonly Needed[]): Promise<void>
  close(): Promise<void>
}

const STATEMENT_MS = 3000
/** Within the time that the readers of an answer have. */
const DEADLINE_MS = 5000
/** Rows forgotten in one call. */
const FORGET_MAX = 20_000

/** Opens no connection before the first call. */
export function createForwarding(address: DatabaseAddress): Forwarding {
  const limits = { max: 1, statementTimeoutMs: STATEMENT_MS, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, { name: 'collector-forwarding', ...limits })
  return {
    async declare(needed) {
      const organizations = needed.map(({ organization }) => organization)
      const firsts = needed.map(({ first }) => String(first))
      await deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, async () => {
        await sql`
          insert into forwarding (organization) select unnest(${organizations}::text[])
          on conflict do nothing`
        await sql`delete from forwarding where organization <> all (${organizations}::text[])`
        await sql`
          delete from spans_to_forward where id in (
            select id from spans_to_forward as row
            where noted_at < now() - (select weeks * interval '1 week' from retention)
              or not exists (
                select from unnest(${organizations}::text[], ${firsts}::text[]::int8[])
                  as needed (organization, first_id)
                where needed.organization = row.organization and row.id >= first_id)
            limit ${FORGET_MAX})`
      })
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
