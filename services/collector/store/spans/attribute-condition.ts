import type { Queryable } from '../../../shared/postgres/database.ts'
import { findLeftOut } from '../../conventions/left-out-keys.ts'

/** A row of `spans`, by this name in the statement, has the attribute, wherever it is stored. */
export function hasAttribute(
  sql: Queryable,
  table: string,
  { key, value }: { readonly key: string; readonly value: string },
) {
  const among = sql`${sql(table)}.attributes ->> ${key}::text = ${value}`
  const kept = findLeftOut(key)
  if (kept === undefined) return among
  const code = Buffer.of(kept.code).toString('hex')
  return sql`(${among} or ${sql(table)}.${sql(kept.column)}::text = ${value}
    and position(${sql.unsafe(`'\\x${code}'::bytea`)} in ${sql(table)}.left_out) > 0)`
}
