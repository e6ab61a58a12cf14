import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { refuseCircles } from '../automations/automation-tools.ts'
import type { Automation } from '../automations/automations.ts'
import { parseCrewDefinition } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { requireInside } from '../connections/regions.ts'
import { unlessHeld } from '../runs/run-retention.ts'
import { deployProject } from './project-automations.ts'
import { endRelease, findRelease, lockProject, releaseVersion } from './releases.ts'
import type { Share } from './releases.ts'
import { ensureProject } from './projects.ts'
import type { ProjectKey, VersionKey } from './projects.ts'

/** One version of a project: a draft until it is published, and from then on the same forever. */
export interface Version {
  readonly id: number
  readonly projectId: number
  readonly number: number
  readonly definition: CrewDefinition
  readonly createdAt: Date
  /** null: a draft. */
  readonly publishedAt: Date | null
  /** What is new in it, as whoever published it says. */
  readonly note: string | null
}

const columns = (sql: Queryable) => sql`
  id, project_id, number, definition, created_at, published_at, note`

/**
 * Adds a draft to a project. Raises `not_found` when the organization has no such project, and
 * `conflict` for one whose versions are sources.
 */
export async function createVersion(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
  definition: CrewDefinition,
): Promise<Version> {
  const project = sql`id = ${projectId} and organization_id = ${organizationId}`
  const designed = sql`${project} and not from_source and archived_at is null`
  const version = await addVersion(sql, designed, { definition, publishedAt: sql`null` })
  if (version) return version
  const [found] = await sql<{ fromSource: boolean }[]>`
    select from_source from projects where ${project}`
  if (!found) notFound('Your organization has no such project.')
  throw new AppError(
    'conflict',
    found.fromSource
      ? 'The versions of this project are sources: deploy a new one on the page of its automation.'
      : 'This project is archived. Bring it back before you add a version.',
  )
}

/**
 * Adds a version to a project and publishes it, for the platform's own crews and those that an
 * operator installs; the automations of the project stay on the version that they have. Raises
 * `unprocessable`, and `not_found` when there is no such project.
 */
export async function publishVersion(
  sql: Queryable,
  projectId: number,
  definition: unknown,
): Promise<Version> {
  const content = { definition: parseCrewDefinition(definition), publishedAt: sql`now()` }
  const version = await addVersion(sql, sql`id = ${projectId}`, content)
  return version ?? notFound(`There is no project ${projectId}.`)
}

type Fragment = ReturnType<typeof columns>

/** Adds the next version to the project that a condition finds. */
async function addVersion(
  sql: Queryable,
  project: Fragment,
  { definition, publishedAt }: { definition: CrewDefinition; publishedAt: Fragment },
): Promise<Version | undefined> {
  const [version] = await sql<Version[]>`
    with project as (
      update projects set last_version = last_version + 1 where ${project}
      returning id, organization_id, last_version)
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    select id, organization_id, last_version, ${JSON.stringify(definition)}::text::jsonb,
      ${publishedAt}
    from project returning ${columns(sql)}`
  return version
}

/** Returns a version of a project of the organization, if it exists. */
export async function findVersion(sql: Queryable, key: VersionKey): Promise<Version | undefined> {
  const [found] = await sql<Version[]>`
    select ${columns(sql)} from project_versions where ${isVersion(sql, key)}`
  return found
}

/** A version as a list shows it. */
export type VersionSummary = Pick<Version, 'number' | 'createdAt' | 'publishedAt' | 'note'>

/** Returns the newest published versions of a project, newest first. */
export async function listPublished(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
  limit: number,
): Promise<VersionSummary[]> {
  return sql<VersionSummary[]>`
    select number, created_at, published_at, note from project_versions
    where project_id = ${projectId} and organization_id = ${organizationId}
      and published_at is not null
    order by number desc limit ${limit}`
}

/** Where the version that an automation runs is to be found. */
export type RunVersion = Pick<Version, 'projectId' | 'number' | 'publishedAt'>

/** Returns the version that an automation runs. */
export async function getRunVersion(
  sql: Queryable,
  { projectVersionId }: Pick<Automation, 'projectVersionId'>,
): Promise<RunVersion> {
  const [found] = await sql<[RunVersion]>`
    select project_id, number, published_at from project_versions where id = ${projectVersionId}`
  return found
}

/** Returns the versions of a project with numbers below `before`, newest first. */
export async function listVersions(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
  { before, limit }: { before: number; limit: number },
): Promise<Version[]> {
  return sql<Version[]>`
    select ${columns(sql)} from project_versions
    where project_id = ${projectId} and organization_id = ${organizationId} and number < ${before}
    order by number desc limit ${limit}`
}

/** Returns the newest published version of a project, if it has one. */
export async function findPublishedVersion(
  sql: Queryable,
  projectId: number,
): Promise<Version | undefined> {
  const [found] = await sql<Version[]>`
    select ${columns(sql)} from project_versions
    where project_id = ${projectId} and published_at is not null
    order by number desc limit 1`
  return found
}

/**
 * Returns a project with a published version. A new project gets the definition as its first
 * version; a published version stays as it is.
 */
export async function ensurePublishedProject(
  sql: Queryable,
  { definition, ...project }: { organizationId: number; name: string; definition: CrewDefinition },
): Promise<{ projectId: number; versionId: number }> {
  const projectId = await ensureProject(sql, project)
  const { id: versionId } =
    (await findPublishedVersion(sql, projectId)) ??
    (await publishVersion(sql, projectId, definition))
  return { projectId, versionId }
}

/**
 * Replaces the definition of a draft; with `since`, only one that is still the same. Raises
 * `conflict` for a published version and for one that changed, and `not_found`.
 */
export async function updateDraft(
  sql: Queryable,
  key: VersionKey,
  { definition, since }: { definition: CrewDefinition; since?: CrewDefinition },
): Promise<Version> {
  const isSame = since ? sql`and definition = ${JSON.stringify(since)}::text::jsonb` : sql``
  const [updated] = await sql<Version[]>`
    update project_versions set definition = ${JSON.stringify(definition)}::text::jsonb
    where ${isVersion(sql, key)} and published_at is null ${isSame} returning ${columns(sql)}`
  return updated ?? refuse(sql, key, 'edited')
}

/**
 * Deletes a draft with what was replayed by it. Raises `conflict` for a published version and where
 * a hold keeps such an outcome, and `not_found`.
 */
export async function deleteDraft(sql: Queryable, key: VersionKey): Promise<void> {
  const { count } = await unlessHeld(
    'outcomes of replays by this draft',
    sql`delete from project_versions where ${isVersion(sql, key)} and published_at is null`,
  )
  if (count === 0) await refuse(sql, key)
}

/** A draft as it was read, and its definition with the schemas of its tools. */
export interface PinnedDraft {
  readonly key: VersionKey
  readonly definition: CrewDefinition
  readonly pinned: CrewDefinition
}

/**
 * Prepares a draft for its publication: `pin` returns the definition with the schemas of its tools,
 * for which it asks other servers. Raises `conflict` for a published version, `not_found`,
 * `unprocessable` for one outside of the regions of its organization, and what `pin` raises.
 */
export async function pinDraft(
  sql: Queryable,
  key: VersionKey,
  pin: (definition: CrewDefinition) => Promise<CrewDefinition>,
): Promise<PinnedDraft> {
  const draft = await findVersion(sql, key)
  if (!draft || draft.publishedAt !== null) return refuse(sql, key)
  await requireInside(sql, key.organizationId, draft.definition)
  return { key, definition: draft.definition, pinned: await pin(draft.definition) }
}

/** How a version is published. */
export interface Publication {
  readonly note?: string | null
  /** @default all calls */
  readonly share?: Share | undefined
}

/**
 * Publishes a draft: it cannot change any more, and if it is the newest, the automations of its
 * project run it from then on, or give it a share of their calls. Raises `conflict` for a published
 * version and one that changed since it was read, and `not_found`.
 */
export async function publishDraft(
  sql: Queryable,
  { key, definition, pinned }: PinnedDraft,
  { note = null, share }: Publication = {},
): Promise<Version> {
  return inTransaction(sql, async (tx) => {
    await lockProject(tx, key)
    await refuseCircles(tx, key, pinned.tools)
    const [published] = await tx<Version[]>`
      update project_versions set published_at = now(), note = ${note},
        definition = ${JSON.stringify(pinned)}::text::jsonb
      where ${isVersion(tx, key)} and published_at is null
        and definition = ${JSON.stringify(definition)}::text::jsonb
      returning ${columns(tx)}`
    if (!published) return refuse(tx, key)
    const { running } = await findRelease(tx, key)
    const newest = await findPublishedVersion(tx, key.projectId)
    // Automations never go back to an older version by themselves.
    if (running !== null && newest?.number !== key.number) return published
    if (running !== null && share && share.percent < 100) {
      await releaseVersion(tx, key, share)
    } else {
      await deployProject(tx, key)
      await endRelease(tx, key)
    }
    return published
  })
}

const isVersion = (sql: Queryable, { organizationId, projectId, number }: VersionKey) => sql`
  project_id = ${projectId} and organization_id = ${organizationId} and number = ${number}`

async function refuse(
  sql: Queryable,
  key: VersionKey,
  doing = 'published. Publish it again',
): Promise<never> {
  const found = await findVersion(sql, key)
  if (!found) notFound('This project has no such version.')
  throw new AppError(
    'conflict',
    found.publishedAt === null
      ? `Version ${key.number} was changed while it was being ${doing}.`
      : `Version ${key.number} is published and cannot change. Add a new version.`,
  )
}

function notFound(message: string): never {
  throw new AppError('not_found', message)
}
