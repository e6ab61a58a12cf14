import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Log } from '../../shared/log.ts'
import type { ObjectStore } from '../../shared/object-store/object-store.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'

/** A year of heads: more are copied by the next call. */
const HEADS_MAX = 10_000
const SIZE_DIGITS = 16
/** A larger object is another one anyway. */
const BYTES_MAX = 64 << 10
/** For which a fork that was found is a warning: a restore explains it, and cannot be undone. */
const FORK_DAYS = 30

/**
 * Writes the signed heads that a bucket does not have yet, an object each, and never over another
 * one: where another head lies, an error is logged, and the report warns. Returns how many heads
 * are there now that were not, and how many forks were found.
 */
export async function copyHeads(
  sql: Database,
  store: ObjectStore,
  log: Log,
): Promise<{ copied: number; forks: number }> {
  const heads = await sql<{ size: number; log: string; content: string; signature: Buffer }[]>`
    select size::float8, content::json ->> 'log' as log, content, signature from receipt_heads
    where copied_at is null and fork_found_at is null
    order by receipt_heads.size limit ${HEADS_MAX}`
  const done = { copied: 0, forks: 0 }
  for (const { size, log: id, content, signature } of heads) {
    const path = `receipt-heads/${id}/${String(size).padStart(SIZE_DIGITS, '0')}.json`
    const head: unknown = JSON.parse(content)
    const signed = canonicalJson({ head, signature: signature.toString('hex') })
    if (await keep(store, path, Buffer.from(signed))) {
      await sql`update receipt_heads set copied_at = now() where size = ${size}`
      done.copied += 1
      continue
    }
    await sql`update receipt_heads set fork_found_at = now() where size = ${size}`
    log.error(
      { path, place: store.place, size },
      'another head of receipts lies where this one belongs: the log was forked, or restored',
    )
    done.forks += 1
  }
  return done
}

/** Returns false where another object is there, which stays as it is. */
async function keep(store: ObjectStore, path: string, content: Buffer): Promise<boolean> {
  if (await store.writeNew(path, content)) return true
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of store.read(path)) {
    parts.push(part)
    bytes += part.length
    if (bytes > BYTES_MAX) break
  }
  return Buffer.concat(parts).equals(content)
}

/** Counts the forks that were found within a month. */
export async function countForks(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ forks: number }]>`
    select count(*)::int as forks from receipt_heads
    where fork_found_at > now() - ${FORK_DAYS}::int * interval '1 day'`
  return row.forks
}
