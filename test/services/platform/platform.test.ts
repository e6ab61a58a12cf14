import { describe, expect, it } from 'vitest'
import {
  AUTOMATION_STATUSES,
  ensureAutomation,
  findAutomation,
  getDefinition,
  listAutomations,
  markDown,
} from '../../../services/platform/automations/automations.ts'
import { listNewestRuns } from '../../../services/platform/runs/run-list.ts'
import { RUN_STATUSES, findRun, kickoff, listRuns } from '../../../services/platform/runs/runs.ts'
import { isEnabled, setFlag } from '../../../services/platform/feature-flags.ts'
import {
  createLlmConnection,
  listLlmConnections,
  updateLlmConnection,
} from '../../../services/platform/connections/llm-connections.ts'
import {
  ensureOrganization,
  findOrganization,
} from '../../../services/platform/people/organizations.ts'
import {
  findPublishedVersion,
  publishVersion,
} from '../../../services/platform/projects/project-versions.ts'
import { ensureProject } from '../../../services/platform/projects/projects.ts'
import { sqlState } from '../../../services/shared/postgres/failures.ts'
import { definition } from '../../support/crew.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()

const CHECK_VIOLATION = '23514'
const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'

describe('organizations (SPEC 2.3)', () => {
  it('has one internal organization at the most', async () => {
    const first = await ensureOrganization(database.sql, { name: 'Internal', internal: true })
    const second = await ensureOrganization(database.sql, { name: 'Another', internal: true })
    expect(second).toEqual(first)
    const forced = database.sql`insert into organizations (name, internal) values ('Third', true)`
    expect(await forced.catch(sqlState)).toBe(UNIQUE_VIOLATION)
    expect(await findOrganization(database.sql, first.id)).toEqual(first)
  })
})

describe('what is made sure of again and again', () => {
  it('uses up no ids', async () => {
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'First' })
    const projectId = await ensureProject(database.sql, { organizationId, name: 'First' })
    const { id } = await seedAutomation(database.sql, { organization: 'First', slug: 'first' })
    for (let again = 0; again < 3; again += 1) {
      await ensureOrganization(database.sql, { name: 'First' })
      await ensureProject(database.sql, { organizationId, name: 'First' })
      await seedAutomation(database.sql, { organization: 'First', slug: 'first' })
    }
    expect(await ensureOrganization(database.sql, { name: 'Second' })).toHaveProperty(
      'id',
      organizationId + 1,
    )
    expect(await ensureProject(database.sql, { organizationId, name: 'Second' })).toBe(
      projectId + 2,
    )
    expect(
      await seedAutomation(database.sql, { organization: 'First', slug: 'second' }),
    ).toHaveProperty('id', id + 1)
  })
})

describe('project versions', () => {
  it('numbers versions without gaps when two are published at once', async () => {
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'Numbers' })
    const projectId = await ensureProject(database.sql, { organizationId, name: 'P' })
    const versions = await Promise.all(
      [1, 2, 3, 4].map(() => publishVersion(database.sql, projectId, definition)),
    )
    expect(versions.map(({ number }) => number).sort((a, b) => a - b)).toEqual([1, 2, 3, 4])
    expect((await findPublishedVersion(database.sql, projectId))?.number).toBe(4)
  })

  it('never changes once it is published, not even by hand', async () => {
    const { projectVersionId: id } = await seedAutomation(database.sql, {
      organization: 'Fixed',
      slug: 'fixed',
    })
    expect(
      await database.sql`update project_versions set definition = '{}' where id = ${id}`.catch(
        sqlState,
      ),
    ).toBe(CHECK_VIOLATION)
    expect(await database.sql`delete from project_versions where id = ${id}`.catch(sqlState)).toBe(
      CHECK_VIOLATION,
    )
  })

  it('refuses a definition that is not one', async () => {
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'Refused' })
    const projectId = await ensureProject(database.sql, { organizationId, name: 'P' })
    await expect(publishVersion(database.sql, projectId, { agents: [] })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect(await findPublishedVersion(database.sql, projectId)).toBeUndefined()
    await expect(publishVersion(database.sql, 0, definition)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('deployments', () => {
  it('keeps the automation id when a crew moves to a new version', async () => {
    const before = await seedAutomation(database.sql, { organization: 'Moves', slug: 'moves' })
    const after = await seedAutomation(database.sql, { organization: 'Moves', slug: 'moves' })
    expect(after.automationId).toBe(before.automationId)
    expect(after.projectVersionId).not.toBe(before.projectVersionId)
    expect(await getDefinition(database.sql, after)).toEqual(definition)
  })

  it('is found by its automation id only, in whatever case a caller writes it', async () => {
    const { automationId, id } = await seedAutomation(database.sql, {
      organization: 'Found',
      slug: 'found',
    })
    expect((await findAutomation(database.sql, automationId.toUpperCase()))?.id).toBe(id)
    for (const wrong of ['', 'found', String(id), `${automationId}0`, "' or true --"]) {
      expect(await findAutomation(database.sql, wrong)).toBeUndefined()
    }
  })

  it("cannot run another organization's project", async () => {
    const theirs = await seedAutomation(database.sql, { organization: 'Theirs', slug: 'theirs' })
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'Ours' })
    const stolen = ensureAutomation(database.sql, {
      organizationId,
      projectVersionId: theirs.projectVersionId,
      name: 'x',
      slug: 'stolen',
      appId: 'crew-stolen',
    })
    expect(await stolen.catch(sqlState)).toBe(FOREIGN_KEY_VIOLATION)
  })

  it('runs published versions only, and on crews of the internal organization only', async () => {
    const ours = await seedAutomation(database.sql, { organization: 'Drafts', slug: 'drafts' })
    const theirs = await seedAutomation(database.sql, { organization: 'Rival', slug: 'rival' })
    const [draft] = await database.sql<[{ id: number }]>`
      insert into project_versions (project_id, organization_id, number, definition)
      select project_id, organization_id, 99, definition from project_versions
      where id = ${ours.projectVersionId} returning id`
    const moved = database.sql`
      update deployments set project_version_id = ${draft.id} where id = ${ours.id}`
    expect(await moved.catch(sqlState)).toBe(CHECK_VIOLATION)
    for (const host of [theirs.id, ours.id]) {
      const hosted = database.sql`update deployments set runs_on = ${host} where id = ${ours.id}`
      expect(await hosted.catch(sqlState)).toBe(CHECK_VIOLATION)
    }
  })

  it('gives each run its organization, and its version, whoever inserts it', async () => {
    const ours = await seedAutomation(database.sql, { organization: 'Whose', slug: 'whose' })
    const theirs = await seedAutomation(database.sql, { organization: 'Rival', slug: 'rival' })
    const insert = (version: number | null) => database.sql`
      insert into executions (deployment_id, organization_id, project_version_id, inputs)
      values (${ours.id}, ${theirs.organizationId}, ${version}, '{}')
      returning organization_id, project_version_id`
    const { organizationId, projectVersionId } = ours
    expect(await insert(null)).toEqual([{ organizationId, projectVersionId }])
    // A run may go on with an older version, but never with another organization's.
    expect(await insert(theirs.projectVersionId).catch(sqlState)).toBe(FOREIGN_KEY_VIOLATION)
  })

  it('knows the same statuses as the database', async () => {
    const { id, organizationId } = await seedAutomation(database.sql, {
      organization: 'Statuses',
      slug: 'statuses',
    })
    for (const status of AUTOMATION_STATUSES)
      await database.sql`update deployments set status = ${status} where id = ${id}`
    const unknown = database.sql`update deployments set status = 'Crew is Fine' where id = ${id}`
    expect(await unknown.catch(sqlState)).toBe(CHECK_VIOLATION)
    await markDown(database.sql, id, { status: 'Crew has Failed', reason: 'ImagePullBackOff' })
    expect(
      (await listAutomations(database.sql, organizationId, { limit: 10 })).items,
    ).toMatchObject([{ status: 'Crew has Failed', statusReason: 'ImagePullBackOff' }])
  })

  it('is not online without an address', async () => {
    const { id } = await seedAutomation(database.sql, { organization: 'Nowhere', slug: 'nowhere' })
    expect(
      await database.sql`update deployments set url = null where id = ${id}`.catch(sqlState),
    ).toBe(CHECK_VIOLATION)
  })
})

describe('executions', () => {
  it("keeps one automation's runs from another's callers", async () => {
    const ours = await seedAutomation(database.sql, { organization: 'A', slug: 'runs-a' })
    const theirs = await seedAutomation(database.sql, { organization: 'B', slug: 'runs-b' })
    const id = await kickoff(database.sql, { deploymentId: ours.id, inputs: { snake_case: 1 } })
    expect(await findRun(database.sql, ours.id, id)).toMatchObject({
      status: 'queued',
      inputs: { snake_case: 1 },
    })
    expect(await findRun(database.sql, theirs.id, id)).toBeUndefined()
    expect(await findRun(database.sql, ours.id, 'nonsense')).toBeUndefined()
    const newest = ({ organizationId }: typeof ours) =>
      listNewestRuns(database.sql, { organizationId }, 10)
    expect(await newest(theirs)).toEqual([])
    expect(await newest(ours)).toMatchObject([{ id, automationName: 'runs-a' }])
    expect(await listRuns(database.sql, ours.id, 10)).toMatchObject([{ id }])
  })

  it('knows the same statuses as the database', async () => {
    const [row] = await database.sql<[{ definition: string }]>`
      select pg_get_constraintdef(oid) as definition
      from pg_constraint where conname = 'executions_status_check'`
    expect([...row.definition.matchAll(/'(\w+)'/g)].map(([, status]) => status)).toEqual([
      ...RUN_STATUSES,
    ])
  })

  it('cannot be in two states at once', async () => {
    const { id: deploymentId } = await seedAutomation(database.sql, {
      organization: 'States',
      slug: 'states',
    })
    const id = await kickoff(database.sql, { deploymentId, inputs: {} })
    for (const half of [
      { status: 'completed' },
      { status: 'error' },
      { status: 'running' },
      { output: 'x' },
    ]) {
      expect(
        await database.sql`update executions set ${database.sql(half)} where id = ${id}`.catch(
          sqlState,
        ),
      ).toBe(CHECK_VIOLATION)
    }
  })
})

describe('feature flags', () => {
  it('are off by default, and an organization overrides the platform', async () => {
    const { id } = await ensureOrganization(database.sql, { name: 'Flags' })
    const name = 'k8s_namespace_isolation'
    expect(await isEnabled(database.sql, name, id)).toBe(false)
    await setFlag(database.sql, { name, organizationId: null, enabled: true })
    expect(await isEnabled(database.sql, name, id)).toBe(true)
    await setFlag(database.sql, { name, organizationId: id, enabled: false })
    expect(await isEnabled(database.sql, name, id)).toBe(false)
    await setFlag(database.sql, { name, organizationId: null, enabled: false })
    await setFlag(database.sql, { name, organizationId: id, enabled: true })
    expect(await isEnabled(database.sql, name, id)).toBe(true)
  })
})

describe('LLM connections', () => {
  it('are of one organization and take a change of model', async () => {
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'Models' })
    const connection = {
      organizationId,
      name: 'main',
      provider: 'openai',
      model: 'a',
      baseUrl: null,
    }
    const { id } = await createLlmConnection(database.sql, connection)
    await updateLlmConnection(database.sql, id, { ...connection, model: 'b' })
    expect(
      (await listLlmConnections(database.sql, organizationId, { limit: 10 })).items,
    ).toMatchObject([{ name: 'main', model: 'b' }])
    expect(await listLlmConnections(database.sql, organizationId + 1, { limit: 10 })).toMatchObject(
      {
        items: [],
        total: 0,
      },
    )
  })
})
