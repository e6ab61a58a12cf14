import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { fingerprint } from '../../shared/kubernetes/objects.ts'
import { toSelector } from '../../shared/kubernetes/pod.ts'
import { nothing } from './fix.ts'
import type { Plan } from './fix.ts'
import { describeRight, perform, requireRights, unlessAbsent } from './rights.ts'

const OWN_LABEL = 'platform/doctor'
/** The tasks of a Job of the chart, a container each. No other program is started. */
const TASKS = {
  setup: ['setup'],
  crews: ['designer:agent:install', 'designer:runner:install'],
} as const
/** Labels by which the API server ties pods to one Job. */
const OF_ONE_JOB = /^(batch\.kubernetes\.io\/)?(controller-uid|job-name)$/

const text = v.string()
const texts = v.optional(v.record(text, text), {})
const condition = v.object({ type: text, status: text })

const job = v.object({
  metadata: v.object({ name: text, uid: text, creationTimestamp: text, labels: texts }),
  spec: v.object({
    // All that is not named here stays as it is: it is sent again.
    template: v.looseObject({
      metadata: v.looseObject({ labels: texts }),
      spec: v.looseObject({
        serviceAccountName: text,
        containers: v.array(v.looseObject({ command: v.array(text) })),
      }),
    }),
  }),
  status: v.optional(v.object({ conditions: v.optional(v.array(condition), []) }), {}),
})

const list = v.object({ items: v.array(job) })
type Job = v.InferOutput<typeof job>

/**
 * Runs a Job of the chart again, as a copy. Its tasks add what is missing and change nothing else,
 * as with each upgrade.
 */
export const runAgain =
  (component: keyof typeof TASKS): Plan =>
  async ({ cluster: open, release, fullName }) => {
    const cluster = await open()
    const { namespace } = cluster
    const right = (verb: 'list' | 'create' | 'delete') =>
      ({ verb, group: 'batch', resource: 'jobs', namespace }) as const
    const labels = {
      'app.kubernetes.io/instance': release,
      'app.kubernetes.io/component': component,
    }
    const query = { labelSelector: toSelector(labels), limit: '500' }
    const { items } = v.parse(list, await perform(cluster, right('list'), { query }))
    const template = templateOf(items, component, `${fullName}-${component}`)
    // What cannot be taken back is not begun.
    await requireRights(cluster, right('create'), right('delete'))
    // Doctors that saw the same choose the same name, and the second one is refused.
    const seen = fingerprint(items.map(({ metadata }) => metadata.uid).toSorted()).slice(0, 8)
    const name = `${fullName}-${component}-fix-${seen}`
    const body = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, labels: { ...labels, [OWN_LABEL]: 'true' } },
      spec: { backoffLimit: 3, ttlSecondsAfterFinished: 3600, template },
    }
    const change = {
      what: `Job ${namespace}/${name}`,
      from: 'absent',
      to: `runs ${TASKS[component].join(' and ')}`,
      right: `${describeRight(right('create'))}, and delete`,
      async apply() {
        const made = v.parse(job, await perform(cluster, right('create'), { body }))
        const preconditions = { uid: made.metadata.uid }
        const order = { name, query: { propagationPolicy: 'Background' }, body: { preconditions } }
        return async () => void (await unlessAbsent(perform(cluster, right('delete'), order)))
      },
    }
    return [change]
  }

/** The pods of the newest Job of the chart. Raises `precondition_failed` where none may be run. */
function templateOf(
  items: readonly Job[],
  component: keyof typeof TASKS,
  account: string,
): Job['spec']['template'] {
  const isEnd = ({ type, status }: v.InferOutput<typeof condition>): boolean =>
    status === 'True' && (type === 'Complete' || type === 'Failed')
  const open = items.find(({ status }) => !status.conditions.some(isEnd))
  if (open) throw nothing(`The Job ${open.metadata.name} has not ended: look at its pods, or wait.`)
  const [source] = items
    .filter(({ metadata }) => !(OWN_LABEL in metadata.labels))
    .toSorted((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp))
  if (!source) throw nothing(`There is no Job ${component} to run again: upgrade, which makes one.`)
  const { template } = source.spec
  const wanted = TASKS[component].map((task) => ['node', 'build/tasks/main.js', task])
  const commands = template.spec.containers.map(({ command }) => command)
  if (template.spec.serviceAccountName !== account || !isDeepStrictEqual(commands, wanted)) {
    throw nothing(`The Job ${source.metadata.name} is not as the chart makes it, and is not run.`)
  }
  const labels = Object.entries(template.metadata.labels).filter(([key]) => !OF_ONE_JOB.test(key))
  return { ...template, metadata: { ...template.metadata, labels: Object.fromEntries(labels) } }
}
