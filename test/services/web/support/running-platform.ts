import { start as startCrew } from '../../../../services/crew/start.ts'
import { markOnline } from '../../../../services/platform/automations/automations.ts'
import { INTERNAL_DEFINITIONS } from '../../../../services/platform/definitions/internal-crew-definitions.ts'
import type { InternalSlug } from '../../../../services/platform/definitions/internal-crew-definitions.ts'
import { ensureInternalCrew } from '../../../../services/platform/crews/internal-crews.ts'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { start as startWorker } from '../../../../services/worker/start.ts'
import { startFakeModel } from '../../crew/fake-model.ts'
import { environment, openPlatform, SECRET, withMembers } from './platform.ts'

const log = createLog({ name: 'test', level: 'silent' })

/** A platform on which runs go on: with a worker, and the Runner, which calls a fake model. */
export async function openRunningPlatform(origins: Record<string, string> = {}) {
  const platform = await openPlatform()
  const model = await startFakeModel()
  const running: { stop: () => Promise<unknown> }[] = [model]

  /** Starts a crew of the internal organization, and records where it listens. */
  async function bringOnline(slug: InternalSlug, env: Record<string, string>): Promise<void> {
    const { id, automationId } = await ensureInternalCrew(platform.sql, slug)
    const where = { HOST: '127.0.0.1', PORT: '0' }
    const CREW_DEFINITION = JSON.stringify(INTERNAL_DEFINITIONS[slug])
    const CREW_TOKEN = crewToken(SECRET, automationId)
    const crew = await startCrew({ ...where, CREW_DEFINITION, CREW_TOKEN, ...env }, { log })
    running.push(crew)
    await markOnline(platform.sql, id, crew.url)
  }

  await bringOnline('runner', { OPENAI_BASE_URL: model.baseUrl, ...origins })
  const env = { ...environment(platform.url), WORKER_DRAIN_SECONDS: '0' }
  running.push(await startWorker(env, { log }))
  return withMembers(platform, {
    model,
    bringOnline,
    /** Stops with the platform. */
    own: (service: { stop: () => Promise<unknown> }) => void running.push(service),
    async close() {
      for (const service of running.toReversed()) await service.stop()
      await platform.close()
    },
  })
}
