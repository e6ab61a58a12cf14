import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openForChanges } from '../change-connection.ts'

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

/** Rows forgotten in one call. */
const FORGET_MAX = 20_000

/** Opens no connection before the first call. */
export function createForwarding(address: DatabaseAddress): Forwarding {
  const { sql, make, close } = openForChanges(address, 'collector-forwarding')
  return {
    async declare(needed) {
      const organizations = needed.map(({ organization }) => organization)
      const firsts = needed.map(({ first }) => String(first))
      await make(async () => {
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
    close,
  }
}
