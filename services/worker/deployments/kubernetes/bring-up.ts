import { setTimeout as sleep } from 'node:timers/promises'
import type { ImageLayer } from '../../../platform/crews/crew-images.ts'
import { AppError } from '../../../shared/errors.ts'
import { apply } from '../../../shared/kubernetes/apply.ts'
import { describeTrouble } from '../../../shared/kubernetes/pod.ts'
import { followRollout } from '../../../shared/kubernetes/rollout.ts'
import type { Rollout } from '../../../shared/kubernetes/rollout.ts'
import type { CrewOutcome, CrewProgress, WantedCrew } from '../crew-host.ts'
import { buildImage } from './build-image.ts'
import { applyAll, targetOf } from './cluster-calls.ts'
import type { CrewPlace } from './cluster-calls.ts'
import type { ClusterDeps } from './cluster-deps.ts'
import { ROLLOUT_SECONDS } from './crew-deployment.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import { imageOf, orderBuild } from './crew-images.ts'
import { crewUrl } from './crew-names.ts'
import { crewObjects } from './describe-crew.ts'
import { crewService } from './crew-deployment.ts'
import { describeIn, formerAddresses } from './drift.ts'
import { EXIT_UNREACHABLE } from './install-script.ts'
import { openRepository } from './registry-client.ts'
import { followOutput, lastLines } from './pod-output.ts'

const PUMP_MS = 3000

interface Attempt {
  readonly deps: ClusterDeps
  readonly wanted: WantedCrew
  readonly place: CrewPlace
  readonly progress: CrewProgress
  readonly signal: AbortSignal
}

/** Builds a crew's image where it has one to come, applies its objects and waits for its pods. */
export async function bringUp(
  deps: ClusterDeps,
  wanted: WantedCrew,
  following: { readonly progress: CrewProgress; readonly signal: AbortSignal },
): Promise<CrewOutcome> {
  const place = await deps.placeOf(wanted.owner.organizationId)
  const attempt = { deps, wanted, place, ...following }
  const crew = await describeOrRefuse(attempt)
  if ('outcome' in crew) return crew
  if (wanted.way !== 'image' || (await isStored(attempt, crew))) return start(attempt, crew)
  const built = await build(attempt, crew)
  if ('outcome' in built) return built
  const outcome = await start(attempt, built.crew)
  return outcome.outcome === 'online' ? { ...outcome, ...built.stored } : outcome
}

/** An image that the registry lost is built again. */
async function isStored(
  { deps: { cluster }, wanted }: Attempt,
  { image }: DescribedCrew,
): Promise<boolean> {
  if (image === undefined || !cluster.builder) return false
  const digest = image.slice(image.indexOf('@') + 1)
  try {
    return (await openRepository(cluster.builder, wanted.owner).find(digest)) !== undefined
  } catch {
    // A node may have it all the same.
    return true
  }
}

/** Returns why an organization may have no further image built. */
async function findRefusal({ gifts }: ClusterDeps, { owner }: WantedCrew) {
  try {
    await gifts.requireBuild(owner.organizationId)
    return undefined
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'conflict') return thrown.message
    throw thrown
  }
}

interface BuiltCrew {
  readonly crew: DescribedCrew
  readonly stored: { readonly image: string; readonly layers: readonly ImageLayer[] }
}

/** Settings that cannot be are the crew's own fault. */
async function describeOrRefuse({
  deps,
  wanted,
  place,
}: Attempt): Promise<DescribedCrew | CrewOutcome> {
  try {
    return await describeIn(deps, wanted, place)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unprocessable') {
      return { outcome: 'failed', reason: thrown.message }
    }
    throw thrown
  }
}

async function build(
  { deps, wanted, place, progress, signal }: Attempt,
  crew: DescribedCrew,
): Promise<BuiltCrew | CrewOutcome> {
  const { kubernetes, cluster } = deps
  const { builder, home } = cluster
  if (!builder) throw new AppError('unavailable', 'There is no BuildKit here any more.')
  const refusal = await findRefusal(deps, wanted)
  if (refusal !== undefined) return { outcome: 'failed', reason: refusal }
  progress.state('Building')
  // By it a build that nobody follows any more is found and removed.
  await applyAll(kubernetes, [crewService(crew)], { ...place, home: home.namespace })
  const order = await orderBuild(builder, crew)
  const outcome = await buildImage({ kubernetes, order, place, progress, signal })
  if ('reason' in outcome) return { outcome: 'failed', ...outcome }
  const { digest } = outcome
  const stored = await openRepository(builder, wanted.owner).find(digest)
  if (!stored) throw new AppError('unavailable', 'The registry has not kept the image.')
  const image = await imageOf(builder, wanted.owner, digest)
  return { crew: { ...crew, image }, stored: { image, layers: stored.layers } }
}

async function start(attempt: Attempt, crew: DescribedCrew): Promise<CrewOutcome> {
  const { deps, place, progress, signal } = attempt
  const { kubernetes, cluster, gifts, patience } = deps
  const { name, namespace, selector } = crew.names
  progress.state(crew.image === undefined ? 'Building' : 'Deploying')
  const former = await formerAddresses(deps, crew.names)
  const { service, policy, secrets, deployment, reach } = await crewObjects(crew, gifts, former)
  for (const refusal of policy ? reach.refused : []) progress.log('build', `${refusal}\n`)
  // The Service without its annotation first, and with it when all else is there.
  const first = [crewService(crew), ...(policy ? [policy] : []), ...secrets, deployment]
  await applyAll(kubernetes, first, { ...place, home: cluster.home.namespace })
  await apply(kubernetes, targetOf(service), service)
  const rollout = await withInstallLog(attempt, crew, () =>
    followRollout({
      kubernetes,
      name,
      namespace,
      labels: selector,
      patience: { ...patience, timeoutMs: ROLLOUT_SECONDS * 1000 },
      onWait: async (reason) => progress.log('build', `Waiting: ${reason}.\n`),
      signal,
    }),
  )
  if (!rollout.online) return explain(attempt, crew, rollout)
  return { outcome: 'online', url: crewUrl(crew.names) }
}

/** Hands on what the pods print while they install the crew. */
async function withInstallLog<Result>(
  { deps: { kubernetes }, progress }: Attempt,
  { image, names }: DescribedCrew,
  work: () => Promise<Result>,
): Promise<Result> {
  if (image !== undefined) return work()
  const { namespace, selector } = names
  const write = (text: string): void => progress.log('build', text)
  const output = followOutput({ kubernetes, namespace, selector, container: 'install', write })
  const ended = new AbortController()
  const pumping = (async () => {
    while (!ended.signal.aborted) {
      await output.pump()
      await sleep(PUMP_MS, undefined, { signal: ended.signal }).catch(() => {})
    }
  })()
  try {
    return await work()
  } finally {
    ended.abort()
    await pumping
    await output.pump()
  }
}

type Offline = Extract<Rollout, { online: false }>

/** Tells what is the crew's fault from what the cluster lacks, which is raised. */
async function explain(
  { deps: { kubernetes } }: Attempt,
  { names }: DescribedCrew,
  { reason, trouble }: Offline,
): Promise<CrewOutcome> {
  const { namespace, selector } = names
  const isCrash = trouble === undefined || trouble.reason === 'CrashLoopBackOff'
  if (!isCrash || trouble?.message.includes(`ended with ${EXIT_UNREACHABLE},`)) {
    throw new AppError('unavailable', `Its pod does not start: ${reason}`)
  }
  return {
    outcome: 'failed',
    reason:
      trouble === undefined
        ? `It did not become ready: ${reason}. It has to answer GET /health at the port in PORT.`
        : `Its program ends: ${describeTrouble(trouble)}${adviceFor(trouble.message)}`,
    lastLines: await lastLines(kubernetes, { namespace, selector }),
  }
}

const adviceFor = (message: string): string =>
  message.includes('OOMKilled')
    ? '. It took more memory than its limit; raise the limit in the settings of the automation.'
    : '. The last lines say why.'
