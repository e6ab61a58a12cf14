import { afterAll, afterEach, beforeEach, expect } from 'vitest'
import { start as startCrewService } from '../../../services/crew/start.ts'
import { markOnline } from '../../../services/platform/automations/automations.ts'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { findRun, kickoff } from '../../../services/platform/runs/runs.ts'
import type { Run } from '../../../services/platform/runs/runs.ts'
import { listProgress } from '../../../services/platform/runs/progress.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { start as startWorkerService } from '../../../services/worker/start.ts'
import { publishVersion } from '../../../services/platform/projects/project-versions.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { definition } from '../../support/crew.ts'
import { startFakeModel } from '../crew/fake-model.ts'
import { seedAutomation } from '../../support/platform.ts'
import { createDatabase, POOL_SIZE } from '../../support/postgres.ts'

export const SECRET_KEY_BASE = 'secret-key-base-'.repeat(4)
export const COLLECTOR_SECRET = 'collector-secret-'.repeat(4)
export const silent = createLog({ name: 'test', level: 'silent' })

/** A database with one deployed crew, and what tests of the worker do with it. */
export async function openPlatform() {
  const database = await createDatabase('platform')
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: POOL_SIZE })
  const automation = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
  const running: Service[] = []
  const own = async (starting: Promise<Service>): Promise<Service> => {
    const service = await starting
    running.push(service)
    return service
  }
  const get = (id: string): Promise<Run | undefined> => findRun(sql, automation.id, id)
  return {
    sql,
    automation,
    url: database.url,
    get,
    /** All that a run told, over all of its attempts. */
    events: async (id: string) => (await listProgress(sql, id, 10_000)).map(({ event }) => event),
    attempts: async (id: string) => {
      const progress = await listProgress(sql, id, 10_000)
      return progress.map(({ attempt, event }) => [attempt, event.type])
    },
    kickoff: (inputs: Record<string, unknown> = { topic: 'whales' }): Promise<string> =>
      kickoff(sql, { deploymentId: automation.id, inputs }),
    deployAt: (url: string): Promise<void> => markOnline(sql, automation.id, url),
    async takeOne() {
      const [taken] = await takeRuns(sql, 1)
      if (!taken) throw new Error('nothing to take')
      return taken
    },
    /** Waits until a run has the status, and returns it. */
    async until(id: string, status: Run['status']): Promise<Run> {
      await expect.poll(async () => (await get(id))?.status).toBe(status)
      const found = await get(id)
      if (!found) throw new Error(`no run ${id}`)
      return found
    },
    startCrew: (env: Record<string, string>) => own(startCrew(automation, env)),
    startWorker: (env: Record<string, string> = {}) =>
      own(startWorkerService({ ...workerEnv(database.url), ...env }, { log: silent })),
    /** Stops the services that a test has started. */
    async stopServices(): Promise<void> {
      await Promise.all(running.splice(0).map((service) => service.stop()))
    },
    async close(): Promise<void> {
      await sql.end()
      await database.drop()
    },
  }
}

/**
 * Opens a platform and a model for the tests of one file. Each test begins without runs and without
 * services; both are closed after the last one.
 */
export async function openWorker() {
  const platform = await openPlatform()
  const model = await startFakeModel()
  const { sql, automation } = platform
  beforeEach(async () => {
    await sql`delete from executions`
    model.requests.length = 0
  })
  afterEach(() => platform.stopServices())
  afterAll(async () => {
    await platform.close()
    await model.stop()
  })
  /** Starts a crew that asks the model, and lets the automation use it. */
  async function deploy(env: Record<string, string> = {}): Promise<Service> {
    const crew = await platform.startCrew({ OPENAI_BASE_URL: model.baseUrl, ...env })
    await platform.deployAt(crew.url)
    return crew
  }
  /** Lets the automation run another version. */
  async function publish(crew: CrewDefinition): Promise<void> {
    const [{ projectId }] = await sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${automation.projectVersionId}`
    const { id } = await publishVersion(sql, projectId, crew)
    await sql`update deployments set project_version_id = ${id} where id = ${automation.id}`
  }
  return { platform, model, deploy, publish }
}

export const workerEnv = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  HOST: '127.0.0.1',
  PORT: '0',
  PLATFORM_VERSION: '1.13.0',
  SECRET_KEY_BASE,
  CREW_PATIENCE_SECONDS: '5',
  WORKER_DRAIN_SECONDS: '0',
})

function startCrew({ automationId }: Automation, env: Record<string, string>): Promise<Service> {
  const base = {
    HOST: '127.0.0.1',
    PORT: '0',
    CREW_DEFINITION: JSON.stringify(definition),
    CREW_TOKEN: crewToken(SECRET_KEY_BASE, automationId),
  }
  return startCrewService({ ...base, ...env }, { log: silent })
}
