import type { Queryable } from '../../shared/postgres/database.ts'
import { cut, safeName } from '../definitions/output-file.ts'
import type { Lease } from './run-queue.ts'

/** The longest file of a task, in bytes of UTF-8; the rest is left out. */
const ARTIFACT_BYTES_MAX = 1_048_576
/** The most files of one run; a crew that writes more loses them. */
const ARTIFACTS_MAX = 100

/** A file that a task of a run wrote. */
export interface WrittenFile {
  readonly name: string
  readonly task: string
  readonly step?: string | undefined
  readonly content: string
}

/**
 * Stores the files that a crew reported, if the worker still owns the run. A name that is there
 * already gets the newer content, as a file would.
 */
export async function storeArtifacts(
  sql: Queryable,
  { id, leaseId }: Lease,
  written: readonly WrittenFile[],
): Promise<void> {
  // The last one of a name counts, and one statement may write a row once only.
  const files = [...new Map(written.map((each) => [each.name, toRow(each)])).values()]
  if (files.length === 0) return
  await sql`
    with owned as (
      select id from executions where id = ${id} and lease_id = ${leaseId} for no key update),
    given as (
      select g.*, row_number() over () as number
      from json_to_recordset(${JSON.stringify(files)}::text::json)
        as g (name text, step_key text, task text, content text, size int, left_out int)),
    known as (
      select name from run_artifacts where run_id = ${id})
    insert into run_artifacts (run_id, name, step_key, task, content, size, left_out)
    select o.id, g.name, g.step_key, g.task, g.content, g.size, g.left_out from owned o, given g
    where g.name in (select name from known)
      or g.number + (select count(*) from known) <= ${ARTIFACTS_MAX}
    on conflict (run_id, name) do update set step_key = excluded.step_key, task = excluded.task,
      content = excluded.content, size = excluded.size, left_out = excluded.left_out,
      created_at = now()`
}

function toRow({ name, task, step, content }: WrittenFile) {
  const kept = cut(content, ARTIFACT_BYTES_MAX)
  return {
    name,
    step_key: step,
    task,
    content: kept,
    size: Buffer.byteLength(kept),
    left_out: content.length - kept.length,
  }
}

/** The name under which a file is kept that a crew calls by some name. */
export const artifactName = (name: string): string => safeName(name) || 'output.txt'

/** A file of a run, without its content. */
export interface Artifact {
  readonly name: string
  /** The key of the task that wrote it. */
  readonly task: string
  /** In bytes of UTF-8. */
  readonly size: number
  /** Characters beyond the longest file that is kept. */
  readonly leftOut: number
  readonly createdAt: Date
}

/** Lists the files of a run, in the order in which they were written. */
export async function listArtifacts(sql: Queryable, runId: string): Promise<Artifact[]> {
  return sql<Artifact[]>`
    select name, task, size, left_out, created_at from run_artifacts
    where run_id = ${runId} order by created_at, name`
}

/** Returns a file of a run; undefined if the run wrote none of that name. */
export async function findArtifact(
  sql: Queryable,
  runId: string,
  name: string,
): Promise<(Artifact & { readonly content: string }) | undefined> {
  if (safeName(name) !== name) return undefined
  const [found] = await sql<(Artifact & { content: string })[]>`
    select name, task, size, left_out, created_at, content from run_artifacts
    where run_id = ${runId} and name = ${name}`
  return found
}
