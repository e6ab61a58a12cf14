import type { CrewDeployment } from '../../platform/crews/crew-deployments.ts'
import { findDemand } from '../../platform/crews/crew-leases.ts'
import type { LeasedCrew } from '../../platform/crews/crew-leases.ts'
import { keepImages, noteGarbage } from '../../platform/crews/crew-images.ts'
import { finishRemoval } from '../../platform/crews/crew-removal.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import { bringUpCrew, ownerOf, prepareCrew, report } from './bring-up-crew.ts'
import type { CrewDeps, PreparedCrew } from './bring-up-crew.ts'
import type { CrewOutcome } from './crew-host.ts'
import { readCrewInputs } from './read-crew-inputs.ts'

/** The time between two looks at a crew that is as it should be. */
export const LOOK_SECONDS = 60
/** The wait before the next try to start a crew that has been online and then failed. */
const FAILED_SECONDS = 300
const LOOK_MS = 60_000
const IMAGES_MS = 60_000
/** Longer than crews have to end their runs. */
const END_MS = 5 * 60_000
/** Each deletes some hundred runs; the next pass goes on. */
const REMOVAL_BATCHES_MAX = 100

const STOPPED = 'It was stopped. Start it to let it take runs again.'
const NO_REPLICAS = 'It has no replicas. Give it one in its settings to let it take runs again.'

/** A crew that is looked after, by whoever holds its lease. */
interface Pass {
  readonly deps: CrewDeps
  readonly crew: LeasedCrew
  /** Aborts when the worker stops, and when the crew was changed or taken over. */
  readonly signal: AbortSignal
}

/**
 * Makes what runs of an automation what is wanted of it, and records how that went. Returns the
 * seconds until the next look. Raises what is not the crew's fault, and the reason of the signal.
 */
export async function reconcileCrew(
  deps: CrewDeps,
  crew: LeasedCrew,
  signal: AbortSignal,
): Promise<number> {
  const pass = { deps, crew, signal }
  const { wanted, stoppedAt, replicas } = crew
  if (crew.removingSince) await remove(pass)
  else if (!wanted) await keepOnly(pass, [])
  else if (stoppedAt || replicas === 0) await goOffline(pass, stoppedAt ? STOPPED : NO_REPLICAS)
  else if (await isToSleep(pass, wanted)) await sleep(pass, wanted)
  else return run(pass, wanted)
  return LOOK_SECONDS
}

async function remove(pass: Pass): Promise<void> {
  const { deps, crew, signal } = pass
  const limit = { name: 'The host of crews', timeoutMs: END_MS, signal }
  await deadline(limit, (stop) => deps.host.remove(ownerOf(crew), stop))
  await deleteImages(pass, [])
  for (let batch = 0; batch < REMOVAL_BATCHES_MAX; batch += 1) {
    if (await finishRemoval(deps.sql, crew)) break
  }
}

const keepOnly = ({ deps, crew, signal }: Pass, ids: readonly number[]): Promise<void> =>
  deadline({ name: 'The host of crews', timeoutMs: END_MS, signal }, (stop) =>
    deps.host.keepOnly(ownerOf(crew), ids, stop),
  )

async function goOffline(pass: Pass, reason: string): Promise<void> {
  const { deps, crew } = pass
  for (const { id, ...deployment } of [crew.serving, crew.wanted].filter((each) => !!each)) {
    const state = 'Crew is Offline'
    if (deployment.state === state && deployment.reason === reason) continue
    await report(deps, { lease: crew, id }, { state, reason })
  }
  await keepOnly(pass, [])
}

async function isToSleep({ deps, crew }: Pass, wanted: CrewDeployment): Promise<boolean> {
  const { idleMinutes } = crew
  const { state, stateSince, asleepSince } = wanted
  if (idleMinutes === null || (state !== 'Crew is Online' && !asleepSince)) return false
  const { open, lastEndedAt } = await findDemand(deps.sql, crew)
  if (open > 0) return false
  const quietSince = Math.max(stateSince.getTime(), lastEndedAt?.getTime() ?? 0)
  return asleepSince !== null || Date.now() - quietSince >= idleMinutes * 60_000
}

async function sleep(pass: Pass, { id, asleepSince }: CrewDeployment): Promise<void> {
  const { deps, crew } = pass
  const reason = `It had no runs for ${crew.idleMinutes} minutes, and starts with the next one.`
  // First, so that a run that comes now is noticed.
  if (!asleepSince) {
    const change = { state: 'Crew is Offline', reason, isAsleep: true } as const
    await report(deps, { lease: crew, id }, change)
  }
  await keepOnly(pass, [])
}

async function run(pass: Pass, wanted: CrewDeployment): Promise<number> {
  const prepared = await prepareCrew(pass.deps, pass.crew, wanted)
  if ('failure' in prepared) return fail(pass, wanted, prepared.failure)
  const seen = wanted.state === 'Crew is Online' ? await look(pass, wanted, prepared) : 'down'
  if (seen === 'online') return LOOK_SECONDS
  return seen === 'serving' ? replace(pass, wanted, prepared) : bringUp(pass, wanted, prepared)
}

/** Returns `serving` for one that takes runs, and has to be replaced all the same. */
async function look(
  pass: Pass,
  { id }: CrewDeployment,
  { wanted, output }: PreparedCrew,
): Promise<'online' | 'serving' | 'down'> {
  const { deps, crew, signal } = pass
  const progress = { log: output.write, state: () => {} }
  const limit = { name: 'The host of crews', timeoutMs: LOOK_MS, signal }
  const seen = await deadline(limit, (stop) => deps.host.look(wanted, progress, stop))
  await output.flush()
  if (seen.condition === 'online') {
    const { status, url } = crew.automation
    const isKnown = status === 'Crew is Online' && url === seen.url
    if (!isKnown)
      await report(deps, { lease: crew, id }, { state: 'Crew is Online', url: seen.url })
    await keepOnly(pass, [id])
    return 'online'
  }
  const { reason } = seen
  deps.log.warn({ crew: crew.automation.slug, reason }, 'a crew is not as it should be')
  if (seen.condition === 'drifted' && seen.isServing) return 'serving'
  await report(deps, { lease: crew, id }, { state: 'Crew is Offline', reason })
  return 'down'
}

/** Restarts a crew that stays online meanwhile, also when the new processes do not start. */
async function replace(
  pass: Pass,
  deployment: CrewDeployment,
  prepared: PreparedCrew,
): Promise<number> {
  const { deps, crew, signal } = pass
  const outcome = await bringUpCrew(deps, crew, { ...prepared, signal, isQuiet: true })
  signal.throwIfAborted()
  if (outcome.outcome === 'online') return settle(pass, deployment, outcome)
  const reason = prepared.output.hide(explain(outcome))
  prepared.output.write('crew', `The restart failed, and is tried again in some minutes: ${reason}`)
  await prepared.output.flush()
  deps.onFailed()
  return FAILED_SECONDS
}

async function bringUp(
  pass: Pass,
  deployment: CrewDeployment,
  prepared: PreparedCrew,
): Promise<number> {
  const { deps, crew, signal } = pass
  const outcome = await bringUpCrew(deps, crew, { ...prepared, signal })
  signal.throwIfAborted()
  if (outcome.outcome === 'failed')
    return fail(pass, deployment, prepared.output.hide(explain(outcome)))
  return settle(pass, deployment, outcome)
}

type OnlineOutcome = Extract<CrewOutcome, { outcome: 'online' }>

/** Lets the runs go to a deployment that is healthy, and ends the ones before it. */
async function settle(
  pass: Pass,
  { id, number }: CrewDeployment,
  { url, image, layers }: OnlineOutcome,
): Promise<number> {
  const { deps, crew, signal } = pass
  if (image !== undefined) {
    await report(deps, { lease: crew, id }, { state: 'Deploying', image, layers })
  }
  const token = deps.tokenOf(crew.automation.automationId)
  const inputs = await readCrewInputs(url, { token, signal })
  await report(deps, { lease: crew, id }, { state: 'Crew is Online', url, inputs })
  deps.log.info({ crew: crew.automation.slug, number }, 'a crew is online')
  await keepOnly(pass, [id])
  if (image !== undefined) await deleteUnusedImages(pass)
  return LOOK_SECONDS
}

/** Deletes the images of an automation that no deployment of it may need. */
async function deleteImages(
  { deps, crew, signal }: Pass,
  images: readonly string[],
): Promise<void> {
  const limit = { name: 'The registry of crew images', timeoutMs: IMAGES_MS, signal }
  const count = await deadline(limit, (stop) => deps.host.keepImages(ownerOf(crew), images, stop))
  if (count > 0) await noteGarbage(deps.sql)
}

/** What cannot be deleted now is tried again after the next deployment. */
async function deleteUnusedImages(pass: Pass): Promise<void> {
  const { deps, crew } = pass
  try {
    await deleteImages(pass, await keepImages(deps.sql, crew))
  } catch (thrown) {
    const reason = toError(thrown).message
    deps.log.warn({ crew: crew.automation.slug, reason }, 'old images of a crew are not deleted')
  }
}

const explain = ({ reason, lastLines }: { reason: string; lastLines?: string }): string =>
  lastLines ? `${reason}\n\n${lastLines.trimEnd()}` : reason

/** One that was never online is not tried again: the one before it goes on. */
async function fail(pass: Pass, failed: CrewDeployment, reason: string): Promise<number> {
  const { deps, crew } = pass
  const { id, number, onlineAt } = failed
  await report(deps, { lease: crew, id }, { state: 'Crew has Failed', reason })
  deps.log.warn({ crew: crew.automation.slug, number, reason }, 'a crew has failed')
  deps.onFailed()
  if (onlineAt !== null) return FAILED_SECONDS
  await keepOnly(pass, crew.serving ? [crew.serving.id] : [])
  return crew.serving ? 0 : LOOK_SECONDS
}
