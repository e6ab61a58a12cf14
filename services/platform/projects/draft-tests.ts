import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { automationColumns } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import { runnerOf } from './project-automations.ts'
import type { VersionKey } from './projects.ts'
import type { Inputs } from '../definitions/input-declarations.ts'

/** What a test of a draft runs: a copy of its text, on the automation that tests its project. */
export interface DraftTest {
  readonly automation: Automation
  readonly definition: CrewDefinition
  /** The id of the copy. */
  readonly versionId: number
}

/**
 * Prepares a test of a draft: keeps its text as a copy, which stays what it is while the draft goes
 * on changing. Raises `conflict` when there is no Runner.
 */
export async function prepareDraftTest(
  sql: Database,
  key: VersionKey,
  definition: CrewDefinition,
): Promise<DraftTest> {
  return inTransaction(sql, async (tx) => {
    // One after the other: the same text is kept once, and a project gets one automation.
    await tx`
      select from projects
      where id = ${key.projectId} and organization_id = ${key.organizationId} for no key update`
    const versionId = await ensureCopy(tx, key, definition)
    return { automation: await ensureTestAutomation(tx, key, versionId), definition, versionId }
  })
}

/**
 * Returns the id of a copy of a draft, the same for the same text. The caller holds the project, so
 * that no text is kept twice.
 */
async function ensureCopy(
  tx: Queryable,
  { organizationId, projectId, number }: VersionKey,
  definition: CrewDefinition,
): Promise<number> {
  const text = JSON.stringify(definition)
  const [copy] = await tx<[{ id: number }]>`
    with there as (
      select id from project_versions
      where project_id = ${projectId} and copy_of = ${number}
        and definition = ${text}::text::jsonb limit 1),
    added as (
      insert into project_versions (project_id, organization_id, copy_of, definition)
      select ${projectId}, ${organizationId}, ${number}, ${text}::text::jsonb
      where not exists (select from there) returning id)
    select id from there union all select id from added`
  return copy.id
}

interface VersionRow {
  readonly id: number
  readonly projectId: number
  readonly definition: CrewDefinition
  /** The id of the version that the automation runs. */
  readonly runs: number
  readonly isDraft: boolean
}

type OfProject = Pick<Automation, 'projectVersionId' | 'organizationId'>

/**
 * Returns the id of a published version of an automation's project, or of a copy of a draft, which
 * stays what it is. Raises `unprocessable` for one that is not there, or is a source.
 */
export async function pinVersion(tx: Queryable, of: OfProject, number: number): Promise<number> {
  const found = await lockVersion(tx, of, number)
  if (!isOwnCrew(found.definition)) return pin(tx, of, { ...found, number })
  throw new AppError(
    'unprocessable',
    'The crew of this automation is a program of its own. Only designed versions can be evaluated.',
  )
}

/**
 * Returns the id of a version that performs runs again, as `pinVersion` does. Of sources, it has to
 * be the one that is deployed now; raises `unprocessable` for others.
 */
export async function pinReplayed(tx: Queryable, of: OfProject, version: number): Promise<number> {
  const found = await lockVersion(tx, of, version)
  if (!isOwnCrew(found.definition)) return pin(tx, of, { ...found, number: version })
  if (found.runs === found.id) return found.id
  throw new AppError(
    'unprocessable',
    `No crew of version ${version} is there: only the one that is deployed can perform runs ` +
      'again. Deploy its source first.',
  )
}

async function lockVersion(
  tx: Queryable,
  { projectVersionId }: OfProject,
  number: number,
): Promise<VersionRow> {
  const [found] = await tx<VersionRow[]>`
    select v.id, v.project_id, v.definition, runs.id as runs, v.published_at is null as is_draft
    from project_versions runs join project_versions v on v.project_id = runs.project_id
      join projects p on p.id = v.project_id
    where runs.id = ${projectVersionId} and v.number = ${number} for no key update of p`
  if (found) return found
  throw new AppError(
    'unprocessable',
    `The project of this automation has no version ${number}. Its page lists those it has.`,
  )
}

async function pin(
  tx: Queryable,
  { organizationId }: OfProject,
  { id, projectId, number, definition, isDraft }: VersionRow & { readonly number: number },
): Promise<number> {
  return isDraft ? ensureCopy(tx, { organizationId, projectId, number }, definition) : id
}

async function ensureTestAutomation(
  tx: Queryable,
  { organizationId, projectId }: VersionKey,
  versionId: number,
): Promise<Automation> {
  // Slugs of projects end with their number.
  const slug = `${projectId}-tests`
  const [automation] = await tx<Automation[]>`
    insert into deployments (organization_id, project_version_id, tests_project_id, name, slug,
      app_id, status, runs_on)
    select ${organizationId}, ${versionId}, p.id, p.name, ${slug}, ${`crew-${slug}`},
      'Crew is Online', runner.id
    from projects p, (${runnerOf(tx)}) runner
    where p.id = ${projectId} and p.organization_id = ${organizationId}
    on conflict (tests_project_id) do update
      set project_version_id = excluded.project_version_id, name = excluded.name, updated_at = now()
    returning ${automationColumns(tx)}`
  if (automation) return automation
  throw new AppError(
    'conflict',
    'Nothing can test this draft: the Runner is not installed. An administrator installs it with ' +
      'the task designer:runner:install.',
  )
}

/** Where the run of a test is to be found. */
export interface TestRun {
  readonly id: string
  readonly automationId: string
  readonly inputs: Inputs
}

/** Returns the newest test of a version, if there is one. */
export async function findNewestTest(
  sql: Queryable,
  { organizationId, projectId, number }: VersionKey,
): Promise<TestRun | undefined> {
  const [found] = await sql<TestRun[]>`
    select e.id, e.inputs, d.automation_id
    from project_versions v join executions e on e.project_version_id = v.id
      join deployments d on d.id = e.deployment_id
    where v.project_id = ${projectId} and v.organization_id = ${organizationId}
      and v.copy_of = ${number}
    order by e.queued_at desc, e.id desc limit 1`
  return found
}
