import { isDeepStrictEqual } from 'node:util'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { automationColumns } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { INTERNAL_CREWS, INTERNAL_DEFINITIONS } from '../definitions/internal-crew-definitions.ts'
import { publishVersion } from './project-versions.ts'
import { createProject } from './projects.ts'

const [SLUG] = INTERNAL_CREWS.agent.slugs
const NAMES_TRIED = 20

/** The model that the Assistant calls unless another one is chosen. */
export const ASSISTANT_MODEL = INTERNAL_DEFINITIONS[SLUG].llm.model

/**
 * Returns the automation by which an organization asks the Assistant: one of its own, so that its
 * runs, its models and its limits are those of the organization, on the crew of the Assistant.
 * Creates it at the first use, and brings it to the definition of this version of the platform.
 * Raises `conflict` when the Assistant is not installed.
 */
export async function ensureAssistant(
  sql: Database,
  { organizationId, model }: { organizationId: number; model: string },
): Promise<Automation> {
  const definition: CrewDefinition = { ...INTERNAL_DEFINITIONS[SLUG], llm: { model } }
  return sql.begin(async (tx) => {
    // One after the other, so that each organization gets one.
    await tx`select from organizations where id = ${organizationId} for no key update`
    const crewId = await getCrew(tx)
    const found = await findAssistant(tx, organizationId, crewId)
    if (!found) return createAssistant(tx, { organizationId, crewId, definition })
    if (isDeepStrictEqual(found.definition, definition)) return found
    const { id: versionId } = await publishVersion(tx, found.projectId, definition)
    const [moved] = await tx<[Automation]>`
      update deployments set project_version_id = ${versionId}, updated_at = now()
      where id = ${found.id} returning ${automationColumns(tx)}`
    return moved
  })
}

async function getCrew(tx: Queryable): Promise<number> {
  const [crew] = await tx<{ id: number }[]>`
    select d.id from deployments d join organizations o on o.id = d.organization_id
    where o.internal and d.slug = ${SLUG} and d.runs_on is null`
  if (crew) return crew.id
  throw new AppError(
    'conflict',
    'The Assistant is not installed. An administrator installs it with the task ' +
      'designer:agent:install.',
  )
}

async function findAssistant(tx: Queryable, organizationId: number, crewId: number) {
  const [found] = await tx<(Automation & { projectId: number; definition: CrewDefinition })[]>`
    select ${automationColumns(tx)}, v.project_id, v.definition
    from deployments join project_versions v on v.id = deployments.project_version_id
    where deployments.organization_id = ${organizationId} and deployments.runs_on = ${crewId}`
  return found
}

interface NewAssistant {
  readonly organizationId: number
  readonly crewId: number
  readonly definition: CrewDefinition
}

async function createAssistant(
  tx: Transaction,
  { organizationId, crewId, definition }: NewAssistant,
): Promise<Automation> {
  const { name } = definition
  const projectId = await createOwnProject(tx, { organizationId, name })
  const { id: versionId } = await publishVersion(tx, projectId, definition)
  // Slugs of projects end with a number.
  const slug = `${SLUG}-${organizationId}-designer`
  const [created] = await tx<[Automation]>`
    insert into deployments
      (organization_id, project_version_id, name, slug, app_id, status, runs_on)
    values (${organizationId}, ${versionId}, ${name}, ${slug}, ${`crew-${slug}`},
      'Crew is Online', ${crewId})
    returning ${automationColumns(tx)}`
  return created
}

/** The organization may have a project of that name: that one stays as it is. */
async function createOwnProject(
  tx: Transaction,
  { organizationId, name }: { organizationId: number; name: string },
): Promise<number> {
  for (let number = 1; number <= NAMES_TRIED; number += 1) {
    const named = number === 1 ? name : `${name} (${number})`
    try {
      const project = { organizationId, name: named }
      return (await tx.savepoint((inner) => createProject(inner, project))).id
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
    }
  }
  throw new AppError('conflict', `Your organization has too many projects named ${name}.`)
}
