import type { Queryable } from '../../shared/postgres/database.ts'

/** What keeps images of crews from being built, or from reaching the nodes. */
export const BUILD_PROBLEMS = [
  'buildkit_unreachable',
  'buildkit_tls_failed',
  'build_registry_unreachable',
  'build_registry_refused',
  'pull_address_unusable',
  'build_not_started',
  'build_web_unreachable',
  'build_failed',
  'build_push_failed',
  'build_image_lost',
  'build_pull_failed',
] as const

/** The code of something that keeps images from being built or pulled. */
export type BuildProblemCode = (typeof BUILD_PROBLEMS)[number]

/** A problem, in words that name no secret. */
export interface BuildProblem {
  readonly code: BuildProblemCode
  readonly message: string
}

/** What a worker found without building anything. */
export interface BuildLook {
  readonly problems: readonly BuildProblem[]
  /** When the certificates of BuildKit and of its callers end, as ISO 8601; those it could read. */
  readonly certificates: Readonly<Record<string, string>>
}

/** What came of an image that was built, pushed and pulled for the sake of it. */
export interface BuildCanary {
  readonly problem: BuildProblem | null
  readonly seconds: number
}

/** Something that was found, and when. */
interface Found<Result> {
  readonly checkedAt: Date
  readonly found: Result
}

/** What was last found of builds; undefined where nobody has looked yet. */
export interface BuildChecks {
  readonly look: Found<BuildLook> | undefined
  readonly canary: Found<BuildCanary> | undefined
}

/** Keeps what a worker found at its last look. */
export const noteBuildLook = (sql: Queryable, found: BuildLook): Promise<void> =>
  note(sql, 'look', found)

/** Keeps what came of the last canary. */
export const noteBuildCanary = (sql: Queryable, found: BuildCanary): Promise<void> =>
  note(sql, 'canary', found)

async function note(sql: Queryable, kind: string, found: BuildLook | BuildCanary): Promise<void> {
  await sql`
    insert into build_checks (kind, found)
    values (${kind}, ${JSON.stringify(found)}::text::jsonb)
    on conflict (kind) do update set found = excluded.found, checked_at = excluded.checked_at`
}

type Row =
  | (Found<BuildLook> & { readonly kind: 'look' })
  | (Found<BuildCanary> & { readonly kind: 'canary' })

/** Returns what was last found of builds. */
export async function findBuildChecks(sql: Queryable): Promise<BuildChecks> {
  const rows = await sql<Row[]>`select kind, checked_at, found from build_checks`
  return {
    look: rows.find((row) => row.kind === 'look'),
    canary: rows.find((row) => row.kind === 'canary'),
  }
}
