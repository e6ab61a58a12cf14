import manifest from '../../package.json' with { type: 'json' }
import { ensureAutomation, markOnline } from '../platform/automations/automations.ts'
import type { Automation } from '../platform/automations/automations.ts'
import { kickoff, listRuns } from '../platform/runs/runs.ts'
import { createLlmConnection } from '../platform/connections/llm-connections.ts'
import { publishCrewRuntime } from '../platform/crews/crew-runtime-package.ts'
import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { INTERNAL_DEFINITIONS } from '../platform/definitions/internal-crew-definitions.ts'
import { INTERNAL_CREWS } from '../platform/definitions/internal-crew-definitions.ts'
import { ensureInternalCrew } from '../platform/crews/internal-crews.ts'
import { ensureOrganization } from '../platform/people/organizations.ts'
import { hashPassword } from '../platform/people/passwords.ts'
import { ensurePublishedProject } from '../platform/projects/project-versions.ts'
import { sampleCrews } from '../platform/crews/sample-crews.ts'
import type { SampleCrew } from '../platform/crews/sample-crews.ts'
import { findOrganizationToken } from '../platform/automations/static-token-use.ts'
import { issueStaticToken } from '../platform/automations/static-tokens.ts'
import { TOKEN_SCOPES } from '../platform/automations/token-limits.ts'
import { ensurePublicToolRepository } from '../platform/tools/tools.ts'
import { ensureUser, findCredentials, grantRole } from '../platform/people/users.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { LocalSecrets } from './secrets.ts'

/** The address of the administrator that `npm start` creates. */
export const ADMIN_EMAIL = 'admin@example.com'
const TOKEN_NAME = 'npm start'
const ANY_USE = { scopes: TOKEN_SCOPES, address: undefined }

/** The contents of a seeded database. */
export interface Seeded {
  readonly organizationId: number
  readonly crews: readonly { readonly sample: SampleCrew; readonly automation: Automation }[]
  /** The Assistant and the Runner, which the designer works with. */
  readonly internal: readonly {
    readonly definition: CrewDefinition
    readonly automation: Automation
  }[]
  readonly staticToken: string
}

/**
 * Fills an empty database with what an installation needs, an organization, its administrator, two
 * sample crews and the internal ones, and a connection to the built-in model at `modelUrl`, if
 * there is one. What is there stays as it is.
 */
export async function seed(
  sql: Database,
  secrets: LocalSecrets,
  modelUrl: string | undefined,
): Promise<Seeded> {
  await publishCrewRuntime(sql, await ensurePublicToolRepository(sql, 'public'), manifest)
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme' })
  const isNew = await seedAdministrator(sql, { organizationId, password: secrets.adminPassword })
  if (isNew && modelUrl !== undefined) {
    const model = { provider: 'openai_compatible', model: 'demo', baseUrl: modelUrl }
    await createLlmConnection(sql, { organizationId, name: 'Built-in model', ...model })
  }
  const crews = []
  for (const sample of sampleCrews) {
    crews.push({ sample, automation: await seedCrew(sql, organizationId, sample) })
  }
  const internal = []
  for (const { slugs } of Object.values(INTERNAL_CREWS)) {
    for (const slug of slugs) {
      const automation = await ensureInternalCrew(sql, slug)
      internal.push({ definition: INTERNAL_DEFINITIONS[slug], automation })
    }
  }
  const staticToken = await seedToken(sql, organizationId, secrets)
  return { organizationId, crews, internal, staticToken }
}

/** Returns whether there was none. */
async function seedAdministrator(
  sql: Database,
  { organizationId, password }: { organizationId: number; password: string },
): Promise<boolean> {
  if (await findCredentials(sql, ADMIN_EMAIL)) return false
  const passwordHash = await hashPassword(password)
  const id = await ensureUser(sql, {
    organizationId,
    role: 'admin',
    email: ADMIN_EMAIL,
    name: 'Admin',
    passwordHash,
  })
  await grantRole(sql, id, 'platform-admin')
  return true
}

async function seedCrew(
  sql: Database,
  organizationId: number,
  sample: SampleCrew,
): Promise<Automation> {
  const { name, slug, definition } = sample
  const project = { organizationId, name, definition }
  const { versionId: projectVersionId } = await ensurePublishedProject(sql, project)
  const crew = { organizationId, projectVersionId, name, slug, appId: `crew-${slug}` }
  return ensureAutomation(sql, crew)
}

async function seedToken(
  sql: Database,
  organizationId: number,
  { staticToken }: LocalSecrets,
): Promise<string> {
  const owner = staticToken && (await findOrganizationToken(sql, staticToken, ANY_USE))
  if (owner && owner.organizationId === organizationId) return staticToken
  return issueStaticToken(sql, {
    organizationId,
    deploymentId: null,
    name: TOKEN_NAME,
    createdBy: null,
  })
}

/**
 * Records where a crew listens, and gives it a first run, so that the dashboard has something to
 * show.
 */
export async function bringOnline(
  sql: Database,
  { sample, automation }: Seeded['crews'][number],
  url: string,
): Promise<void> {
  await markOnline(sql, automation.id, url)
  const [newest] = await listRuns(sql, automation.id, 1)
  if (!newest) await kickoff(sql, { deploymentId: automation.id, inputs: sample.inputs })
}

/** Records where a crew of the internal organization listens. */
export const bringInternalOnline = (
  sql: Database,
  { automation }: Seeded['internal'][number],
  url: string,
): Promise<void> => markOnline(sql, automation.id, url)
