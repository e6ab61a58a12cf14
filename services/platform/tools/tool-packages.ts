import type { Queryable } from '../../shared/postgres/database.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import { normalizeToolName } from './python-packages.ts'
import type { Tool } from './tools.ts'

/** The packages of an organization; for null the public ones. */
type PackageOwner = number | null

/** A package of one index, with what its files have together. */
export interface ToolPackage {
  readonly name: string
  /** The version of the file that was uploaded last. */
  readonly lastVersion: string
  readonly versions: number
  readonly files: number
  readonly yankedFiles: number
  readonly lastUploadedAt: Date
}

/** A file of a package, with the token that uploaded it. */
export interface ToolFile extends Tool {
  /** null: it came without a token, or the token is gone. */
  readonly tokenName: string | null
  readonly tokenLastFour: string | null
  /** The person who issued that token. */
  readonly issuedBy: string | null
}

const ofOwner = (sql: Queryable, owner: PackageOwner) => sql`
  t.repository_id = (
    select id from tool_repositories where organization_id is not distinct from ${owner}::int)`

/** Returns the packages of an index, by name; the search looks into their names. */
export async function listToolPackages(
  sql: Queryable,
  owner: PackageOwner,
  page: PageRequest,
): Promise<Page<ToolPackage>> {
  const byName = { columns: [sql`p.name`], at: (cursor: string) => sql`(${cursor}::text)` }
  const isListed = sql`${ofOwner(sql, owner)} and (${contains(sql, [sql`t.name`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<ToolPackage[]>`
      select * from (
        select t.name, count(*)::int as files, count(distinct t.version)::int as versions,
          count(t.yanked_reason)::int as yanked_files, max(t.created_at) as last_uploaded_at,
          (array_agg(t.version order by t.id desc))[1] as last_version
        from tools t where ${isListed} group by t.name
      ) p where true ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`
      select count(distinct t.name)::int as total from tools t where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ name }) => name })
}

const files = (sql: Queryable) => sql`
  select t.id, t.name, t.version, t.filename, t.sha256, t.size, t.requires_python,
    t.yanked_reason, t.created_at, s.name as token_name, s.last_four as token_last_four,
    u.name as issued_by
  from tools t
    left join static_tokens s on s.id = t.uploaded_by
    left join users u on u.id = s.created_by`

/** Returns the files of a package, newest first; the search looks into their names. */
export async function pageToolFiles(
  sql: Queryable,
  { owner, name }: { owner: PackageOwner; name: string },
  page: PageRequest,
): Promise<Page<ToolFile>> {
  const newestFirst = {
    columns: [sql`t.id`],
    at: (cursor: string) => sql`(${cursor}::int)`,
    descending: true,
  }
  const isListed = sql`
    ${ofOwner(sql, owner)} and t.name = ${normalizeToolName(name)}
      and (${contains(sql, [sql`t.filename`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<ToolFile[]>`${files(sql)} where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`select count(*)::int as total from tools t where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => String(id) })
}

/** A file that an organization may yank, and where it is. */
export type OwnToolFile = ToolFile & {
  readonly repositoryId: number
  readonly isPublic: boolean
}

/**
 * Returns a file that an organization may yank: one of its own, and for the platform's own
 * organization a public one as well.
 */
export async function findOwnToolFile(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
): Promise<OwnToolFile | undefined> {
  const [found] = await sql<OwnToolFile[]>`
    select f.*, t.repository_id, r.organization_id is null as is_public
    from (${files(sql)} where t.id = ${id}) f
      join tools t on t.id = f.id
      join tool_repositories r on r.id = t.repository_id
      join organizations o on o.id = ${organizationId}
    where r.organization_id = o.id or (r.organization_id is null and o.internal)`
  return found
}
