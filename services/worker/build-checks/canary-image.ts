import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BuildProblem, BuildProblemCode } from '../../platform/crews/build-checks.ts'
import { BUILD_PROBLEMS } from '../../platform/crews/build-checks.ts'
import { RESTRICTED_CONTAINER, restrictedPod } from '../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../shared/kubernetes/objects.ts'
import { describeTrouble, troubleOfPod } from '../../shared/kubernetes/pod.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { tryBuild } from '../deployments/kubernetes/build-image.ts'
import type { BuildPart } from '../deployments/kubernetes/build-image.ts'
import { REACH_WEB } from '../deployments/kubernetes/build-job.ts'
import type { BuildOrder } from '../deployments/kubernetes/build-job.ts'
import { removeEach, applyAll, listPods } from '../deployments/kubernetes/cluster-calls.ts'
import { accessFor, imageOf, pullSecret } from '../deployments/kubernetes/crew-images.ts'
import { crewNames } from '../deployments/kubernetes/crew-names.ts'
import type { CrewNames } from '../deployments/kubernetes/crew-names.ts'
import { imageTag } from '../deployments/kubernetes/image-names.ts'
import { keepImages } from '../deployments/kubernetes/keep-images.ts'
import { openRepository } from '../deployments/kubernetes/registry-client.ts'
import type { CrewOwner } from '../deployments/crew-host.ts'
import type { CanaryDeps } from './canary-deps.ts'

/** No automation and no deployment has this id, so that nothing of a crew is touched. */
const NONE = 0
const BUILD_SECONDS = 600
/** The label of its pods, with a word of its own. */
const CANARY = 'platform/canary'

type CanaryPart = 'build and push' | 'read' | 'pull'

/** Called when a part has gone well, with a fact worth printing. */
type OnPart = (part: CanaryPart, fact: string) => void

const CODES: Readonly<Record<BuildPart, BuildProblemCode>> = {
  cluster: 'build_not_started',
  web: 'build_web_unreachable',
  buildkit: 'buildkit_unreachable',
  registry: 'build_push_failed',
}

/**
 * Makes a small image in the way of a deployment, reads it back by its digest, has a node pull and
 * run it, and removes all of it. Returns what went wrong. Raises when it cannot clear up.
 */
export async function makeCanary(
  deps: CanaryDeps,
  onPart: OnPart,
): Promise<BuildProblem | undefined> {
  const { kubernetes, place, cluster, builder, organizationId } = deps
  const nonce = randomUUID()
  const owner = { deploymentId: NONE, automationId: '', organizationId, slug: 'canary' }
  const names = ownNames(crewNames({ id: NONE, owner }, placeOf(deps)), nonce)
  const repository = openRepository(builder, owner)
  const clear = async (): Promise<void> => {
    const kinds = ['Job', 'Secret', 'NetworkPolicy'] as const
    await removeEach(kubernetes, { ...place, name: names.build }, kinds)
    await removeEach(kubernetes, { ...place, name: names.pull }, ['Job', 'Secret'])
    await keepImages(repository, [])
  }
  try {
    // An earlier one may have been ended before it cleared up.
    await failingAs('build_registry_unreachable', clear)
    const order: BuildOrder = {
      names,
      cluster,
      access: await failingAs('buildkit_tls_failed', () => accessFor(builder, owner)),
      tag: imageTag(NONE),
      seconds: BUILD_SECONDS,
      getProject: REACH_WEB,
      dockerfile: dockerfileOf(cluster.pythonImage, nonce),
      pythonVersion: null,
      sourceUrl: `${cluster.webUrl}/health`,
      sourceDigest: '',
      indexes: '',
    }
    const digest = await failingAs('build_not_started', () => build(deps, order))
    onPart('build and push', digest)
    const stored = await failingAs('build_image_lost', () => repository.find(digest))
    if (!stored) throw problem('build_image_lost', `The registry does not have ${digest}.`)
    onPart('read', `${stored.layers.length} parts`)
    const image = await failingAs('pull_address_unusable', () => imageOf(builder, owner, digest))
    await failingAs('build_pull_failed', () => pullOnNode(deps, { names, owner, image }))
    onPart('pull', image)
    return undefined
  } catch (thrown) {
    return findProblem(thrown)
  } finally {
    await clear()
  }
}

const placeOf = ({ place, cluster }: CanaryDeps) => ({
  ...place,
  home: cluster.home.namespace,
})

/** Pods of an earlier canary, which may still be ending, are none of this one. */
const ownNames = (names: CrewNames, nonce: string): CrewNames => ({
  ...names,
  selector: { ...names.selector, [CANARY]: nonce },
  buildSelector: { ...names.buildSelector, [CANARY]: nonce },
})

/** Starts from the image of crews, runs something in it, and is never the same twice. */
const dockerfileOf = (base: string, nonce: string): string => `FROM ${base}
RUN echo ${nonce} >/canary
USER 1000:1000
`

/** Returns the digest of the image. */
async function build(deps: CanaryDeps, order: BuildOrder): Promise<string> {
  const { kubernetes, place, signal } = deps
  const progress = { log: (_stream: unknown, text: string) => deps.log(text) }
  const outcome = await tryBuild({ kubernetes, order, place, progress, signal })
  if ('digest' in outcome) return outcome.digest
  if ('part' in outcome) throw problem(CODES[outcome.part], outcome.unreachable)
  throw problem('build_failed', `${outcome.reason}\n${outcome.lastLines}`.trim())
}

const PULL_SECONDS = 180

/** An image to pull, and the names of what does it. */
interface Pulling {
  readonly names: CrewNames
  readonly owner: CrewOwner
  /** By its digest, as nodes pull it. */
  readonly image: string
}

/** Has a node pull an image with the credential of crews, and run it. */
async function pullOnNode(
  { kubernetes, cluster, builder, place, patience, signal }: CanaryDeps,
  { names, owner, image }: Pulling,
): Promise<void> {
  const objects = [pullSecret(builder, { owner, image }, names), pullJob(names, image, cluster)]
  await applyAll(kubernetes, objects, { ...place, home: cluster.home.namespace })
  let last = 'no pod was started'
  let stuckSince: number | undefined
  const giveUpAt = performance.now() + PULL_SECONDS * 1000
  while (performance.now() < giveUpAt) {
    const [pod] = await listPods(kubernetes, names.namespace, names.selector)
    if (pod?.status.phase === 'Succeeded') return
    if (pod?.status.phase === 'Failed') {
      throw problem('build_pull_failed', 'The image was pulled and does not run.')
    }
    const trouble = pod && troubleOfPod(pod)
    if (trouble) last = describeTrouble(trouble)
    // A node may see the pod before it may read the credential: its first pull is refused then.
    stuckSince = trouble ? (stuckSince ?? performance.now()) : undefined
    if (stuckSince !== undefined && performance.now() - stuckSince > patience.stuckMs) break
    await sleep(patience.pollMs, undefined, { signal })
  }
  throw problem('build_pull_failed', `No node has run the image: ${last}`)
}

/** Passes Pod Security "restricted", and ends at once. */
function pullJob(
  { pull, namespace, labels, selector }: CrewNames,
  image: string,
  cluster: CanaryDeps['cluster'],
): KubernetesObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: pull, namespace, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: PULL_SECONDS,
      ttlSecondsAfterFinished: PULL_SECONDS,
      template: {
        metadata: { labels: { ...labels, ...selector } },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          imagePullSecrets: [{ name: pull }],
          securityContext: restrictedPod(cluster),
          containers: [
            {
              name: 'pull',
              image,
              imagePullPolicy: 'Always',
              command: ['cat', '/canary'],
              resources: {
                requests: { cpu: '10m', memory: '16Mi' },
                limits: { cpu: '100m', memory: '64Mi' },
              },
              securityContext: RESTRICTED_CONTAINER,
            },
          ],
        },
      },
    },
  }
}

/** Builds the error of a problem with builds. */
const problem = (code: BuildProblemCode, message: string): AppError =>
  new AppError('unavailable', message, { details: { problem: code } })

/** Does a part of the work; what it raises is this problem, unless it is another one already. */
async function failingAs<Result>(
  code: BuildProblemCode,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (thrown) {
    if (codeOf(thrown) !== undefined) throw thrown
    throw problem(code, toError(thrown).message)
  }
}

/** Returns the problem that was raised. Raises whatever is none. */
function findProblem(thrown: unknown): BuildProblem {
  const code = codeOf(thrown)
  if (code === undefined) throw thrown
  return { code, message: toError(thrown).message }
}

const codeOf = (thrown: unknown): BuildProblemCode | undefined =>
  thrown instanceof AppError
    ? BUILD_PROBLEMS.find((code) => code === thrown.details['problem'])
    : undefined
