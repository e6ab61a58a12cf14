import * as v from 'valibot'
import { sqlState } from '../../shared/postgres/failures.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { partsOf } from '../../shared/postgres/byte-parts.ts'

const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))
const upstreamFile = v.object({
  filename: v.string(),
  /** Where the public index has it. */
  url: v.string(),
  sha256: hash,
  /** Of the file's own description beside it (PEP 658); null: there is none. */
  metadataSha256: v.nullable(hash),
  /** In bytes; null: the public index does not say. */
  size: v.nullable(v.number()),
  requiresPython: v.nullable(v.string()),
  /** null: not yanked. Empty: yanked without a reason. */
  yankedReason: v.nullable(v.string()),
  /** As the public index writes it; null: it does not say. */
  uploadedAt: v.nullable(v.string()),
})
/** One file of a package, as a public index has it. */
export type UpstreamFile = v.InferOutput<typeof upstreamFile>

/** What a public index told of a name. */
interface UpstreamPage {
  /** null: it has no such name. */
  readonly files: readonly UpstreamFile[] | null
  readonly etag: string | null
}

/** A page that was kept. */
export interface KeptPage extends UpstreamPage {
  readonly ageSeconds: number
}

const keptFiles = v.nullable(v.array(upstreamFile))

/** Returns the page of a name that was kept last, if one was. */
export async function findUpstreamPage(
  sql: Queryable,
  name: string,
): Promise<KeptPage | undefined> {
  const [found] = await sql<{ files: unknown; etag: string | null; ageSeconds: number }[]>`
    select files, etag, extract(epoch from now() - fetched_at)::float8 as age_seconds
    from upstream_pages where name = ${name}`
  return found && { ...found, files: v.parse(keptFiles, found.files) }
}

/** Keeps the page of a name. */
export async function keepUpstreamPage(
  sql: Queryable,
  name: string,
  { files, etag }: UpstreamPage,
): Promise<void> {
  const text = files && JSON.stringify(files)
  const size = text === null ? 0 : Buffer.byteLength(text)
  await sql`
    insert into upstream_pages (name, files, etag, size)
    values (${name}, ${text}::text::jsonb, ${etag}, ${size})
    on conflict (name) do update
    set files = excluded.files, etag = excluded.etag, size = excluded.size, fetched_at = now()`
}

/** Notes that the public index still has the page that was kept. */
export async function renewUpstreamPage(sql: Queryable, name: string): Promise<void> {
  await sql`update upstream_pages set fetched_at = now() where name = ${name}`
}

/** A file that was kept whole. */
interface KeptFile {
  readonly id: number
  /** In bytes. */
  readonly size: number
}

/** Returns the file with a SHA-256 that was kept, if one was, and notes that it is used. */
export async function findUpstreamFile(
  sql: Queryable,
  sha256: string,
): Promise<KeptFile | undefined> {
  const [found] = await sql<KeptFile[]>`
    update upstream_files set used_at = now()
    where sha256 = ${Buffer.from(sha256, 'hex')} and size is not null
    returning id, size::float8 as size`
  return found
}

/** Reads a kept file, part after part, each on demand. */
export async function* readUpstreamFile(
  sql: Queryable,
  { id }: Pick<KeptFile, 'id'>,
): AsyncGenerator<Buffer> {
  for (let position = 0; ; position += 1) {
    const [part] = await sql<{ content: Buffer }[]>`
      select content from upstream_file_parts where file_id = ${id} and position = ${position}`
    if (!part) return
    yield part.content
  }
}

/**
 * Writes a file while it comes and yields its parts. Others see it once `keep` was called; until
 * then it holds neither a transaction nor a connection.
 */
export async function startUpstreamFile(sql: Queryable, sha256: string) {
  const digest = Buffer.from(sha256, 'hex')
  const [{ id }] = await sql<[{ id: number }]>`
    insert into upstream_files (sha256) values (${digest}) returning id`
  return {
    async *write(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
      let position = 0
      for await (const part of partsOf(content)) {
        await sql`
          insert into upstream_file_parts ${sql({ fileId: id, position, content: part })}`
        position += 1
        yield part
      }
    },
    /** Lets others have the file, unless they have it from another call already. */
    async keep(size: number): Promise<void> {
      try {
        await sql`update upstream_files set size = ${size}, used_at = now() where id = ${id}`
      } catch (thrown) {
        if (sqlState(thrown) !== '23505') throw thrown
        await this.drop()
      }
    },
    async drop(): Promise<void> {
      await sql`delete from upstream_files where id = ${id}`
    },
  }
}

const ABANDONED = '1 hour'

/**
 * Deletes what was used longest ago, until pages and files have room for so many bytes more, and
 * what nobody finished.
 */
export async function makeUpstreamRoom(
  sql: Queryable,
  { bytesMax, needed }: { readonly bytesMax: number; readonly needed: number },
): Promise<void> {
  await sql`
    delete from upstream_files
    where size is null and used_at < now() - ${ABANDONED}::interval`
  await sql`
    with kept as (
      select id, null as name, used_at as at, size from upstream_files where size is not null
      union all
      select null, name, fetched_at, size + 1000 from upstream_pages),
    sums as (select id, name, sum(size) over (order by at desc, id, name) as total from kept),
    old as (select id, name from sums where total > ${bytesMax - needed}),
    pages as (delete from upstream_pages where name in (select name from old))
    delete from upstream_files where id in (select id from old)`
}
