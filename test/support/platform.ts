import { ensureAutomation, markOnline } from '../../services/platform/automations/automations.ts'
import type { Automation } from '../../services/platform/automations/automations.ts'
import type { CrewDefinition } from '../../services/platform/definitions/crew-definition.ts'
import { ensureOrganization } from '../../services/platform/people/organizations.ts'
import { publishVersion } from '../../services/platform/projects/project-versions.ts'
import { ensureProject } from '../../services/platform/projects/projects.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { definition } from './crew.ts'

interface Options {
  readonly slug: string
  /** @default the slug */
  readonly name?: string
  /** @default the name */
  readonly project?: string
  readonly crew?: CrewDefinition
  /** Where its crew listens. @default nowhere */
  readonly url?: string
}

/** Deploys an automation of an organization: the published version of a project, on a crew. */
export async function deployAutomation(
  sql: Database,
  organizationId: number,
  { slug, name = slug, project = name, crew = definition, url = 'http://127.0.0.1:9' }: Options,
): Promise<Automation> {
  const projectId = await ensureProject(sql, { organizationId, name: project })
  const { id: projectVersionId } = await publishVersion(sql, projectId, crew)
  const deployed = { organizationId, projectVersionId, name, slug, appId: `crew-${slug}` }
  const automation = await ensureAutomation(sql, deployed)
  await markOnline(sql, automation.id, url)
  return { ...automation, status: 'Crew is Online', url }
}

/** The same for an organization by its name, which comes into being with the first automation. */
export async function seedAutomation(
  sql: Database,
  { organization, internal = false, ...options }: Seed,
): Promise<Automation> {
  const { id } = await ensureOrganization(sql, { name: organization, internal })
  return deployAutomation(sql, id, options)
}

interface Seed extends Options {
  readonly organization: string
  readonly internal?: boolean
}
