import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import { changedSince, nothing } from './fix.ts'
import type { Change, FixContext, Plan } from './fix.ts'
import { describeRight, perform, requireRights, unlessAbsent } from './rights.ts'

const RESTARTED = 'kubectl.kubernetes.io/restartedAt'
/** A new status raises the version of an object as well, and is nobody's hand. */
const ATTEMPTS_MAX = 5
/** The long-lived Deployments of the chart (SPEC 2.3). */
const COMPONENTS = ['web', 'worker', 'oauth', 'buildkit', 'collector', 'internal-registry'] as const
type Component = (typeof COMPONENTS)[number]
/** The Deployments of the platform's own crews. */
const CREWS = ['crew-assistant', 'crew-runner'] as const

const text = v.string()
const texts = v.optional(v.record(text, text), {})

const deployment = v.object({
  metadata: v.object({
    uid: text,
    generation: v.number(),
    resourceVersion: text,
    labels: texts,
    annotations: texts,
  }),
  spec: v.object({
    replicas: v.nullish(v.number(), 1),
    selector: v.optional(v.object({ matchLabels: texts }), { matchLabels: {} }),
    template: v.looseObject({
      metadata: v.optional(v.looseObject({ annotations: v.optional(v.record(text, text)) })),
    }),
  }),
})

interface Place {
  readonly cluster: Cluster
  readonly namespace: string
  readonly name: string
  /** Without these it is of another installation. */
  readonly labels: Readonly<Record<string, string>>
}

/** A Deployment of this installation as it was read. */
export type Own = Place & v.InferOutput<typeof deployment>

const kindIn = (namespace: string) =>
  ({ group: 'apps', resource: 'deployments', namespace }) as const

/** Names Deployments in which a fix looks. */
export type Where = (context: FixContext) => Promise<readonly Place[]>

/** Names Deployments of the chart; all of them without any component. */
export const chart =
  (...components: readonly Component[]): Where =>
  async ({ cluster: open, release, fullName }) => {
    const cluster = await open()
    const { namespace } = cluster
    return (components.length > 0 ? components : COMPONENTS).map((component) => {
      const labels = {
        'app.kubernetes.io/instance': release,
        'app.kubernetes.io/component': component,
        'app.kubernetes.io/part-of': 'platform',
      }
      return { cluster, namespace, name: `${fullName}-${component}`, labels }
    })
  }

/** Names the Deployments of the platform's own crews. */
export const crews: Where = async ({ cluster: open, crewNamespace: namespace }) => {
  const cluster = await open()
  const home = { 'platform/home': cluster.namespace }
  const labels = { 'app.kubernetes.io/managed-by': 'crew-platform', ...home }
  return CREWS.map((name) => ({ cluster, namespace, name, labels }))
}

/** Gives a pod to each of these Deployments that is scaled to zero. */
export const wake =
  (where: Where): Plan =>
  async (context) => {
    const asleep = (await findAll(context, where)).filter(({ spec }) => spec.replicas === 0)
    if (asleep.length === 0) throw nothing('No Deployment that may be meant is scaled to zero.')
    const scaled = (replicas: number): object => ({ spec: { replicas } })
    const edit = { from: '0 replicas', to: '1 replica', patch: scaled(1), back: scaled(0) }
    return Promise.all(asleep.map((own) => toChange(own, edit)))
  }

/** Restarts Deployments, as `kubectl rollout restart` does. */
export const restart =
  (where: Where): Plan =>
  async (context) => {
    const annotate = (at: string | null): object => ({
      spec: { template: { metadata: { annotations: { [RESTARTED]: at } } } },
    })
    const patch = annotate(new Date().toISOString())
    const words = { from: 'the pods that run', to: 'new pods, one after the other' }
    return Promise.all(
      (await findAll(context, where)).map((own) => {
        const before = own.spec.template.metadata?.annotations?.[RESTARTED] ?? null
        return toChange(own, { ...words, patch, back: annotate(before) })
      }),
    )
  }

/** Reads Deployments that are there. Raises `precondition_failed` for none, or one of others. */
export async function findAll(context: FixContext, where: Where): Promise<readonly Own[]> {
  const places = await where(context)
  const found = (await Promise.all(places.map(find))).filter((own) => own !== undefined)
  if (found.length > 0) return found
  const names = places.map(({ namespace, name }) => `${namespace}/${name}`).join(', ')
  throw nothing(`There is no Deployment ${names}. Check --namespace, --fullname and --crews.`)
}

async function find(place: Place): Promise<Own | undefined> {
  const { cluster, namespace, name, labels } = place
  const right = { verb: 'get', ...kindIn(namespace) } as const
  const read = await unlessAbsent(perform(cluster, right, { name }))
  if (read === undefined) return undefined
  const object = v.parse(deployment, read)
  const has = object.metadata.labels
  const wrong = Object.entries(labels).find(([key, value]) => has[key] !== value)
  if (!wrong) return { ...place, ...object }
  throw nothing(
    `The Deployment ${namespace}/${name} is not of this installation: it has no label ` +
      `${wrong.join('=')}. Check --namespace, --release, --fullname and --crews.`,
  )
}

/** A change of one Deployment, and the one that takes it back, as merge patches. */
interface Edit extends Pick<Change, 'from' | 'to'> {
  readonly patch: object
  readonly back: object
}

/** Makes a change of an edit. Raises `forbidden` without the right to make it. */
export async function toChange(own: Own, { patch, back, ...words }: Edit): Promise<Change> {
  const right = { verb: 'patch', ...kindIn(own.namespace) } as const
  await requireRights(own.cluster, right)
  return {
    what: `Deployment ${own.namespace}/${own.name}`,
    ...words,
    right: describeRight(right),
    async apply() {
      const changed = await patchUnchanged(own, patch)
      return async () => void (await patchUnchanged(changed, back))
    },
  }
}

/** Patches a Deployment whose specification is as it was read. */
async function patchUnchanged(seen: Own, patch: object): Promise<Own> {
  const { cluster, namespace, name, metadata } = seen
  const right = { verb: 'patch', ...kindIn(namespace) } as const
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const now = (await find(seen))?.metadata
    if (now?.uid !== metadata.uid || now.generation !== metadata.generation) break
    const body = { metadata: { resourceVersion: now.resourceVersion }, ...patch }
    try {
      return { ...seen, ...v.parse(deployment, await perform(cluster, right, { name, body })) }
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'conflict')) throw thrown
    }
  }
  throw changedSince(`The Deployment ${namespace}/${name}`)
}
