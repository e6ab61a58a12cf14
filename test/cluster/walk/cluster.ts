import { join } from 'node:path'
import { attempt, command } from '../bed/command.ts'
import type { Outcome } from '../bed/command.ts'
import { places, repository } from '../bed/places.ts'
import { helms } from '../bed/requirements.ts'
import { words } from '../bed/words.ts'
import { until } from '../../support/until.ts'

const env = { KUBECONFIG: places.kubeconfig }
export const chart = join(repository, 'dist/chart')
export const valuesFile = join(repository, 'test/cluster/values.yaml')
/** What the whole machine may need under load. */
const PATIENCE = '10m'
const PATIENCE_MS = 11 * 60_000

type Words = readonly string[]

/** The options of a command that stay the same. */
const patiently = { env, timeoutMs: PATIENCE_MS, cwd: repository }

export const kubectl = (line: Words): Promise<string> => command(['kubectl', ...line], patiently)

export const tryKubectl = (line: Words, input = ''): Promise<Outcome> =>
  attempt(['kubectl', ...line], { ...patiently, input })

export const apply = (manifest: string): Promise<string> =>
  command(words`kubectl apply -f -`, { ...patiently, input: manifest })

/** Runs the first Helm that is installed, or the named one. */
export const helm = (line: Words, name = helms()[0] ?? 'helm'): Promise<string> =>
  command([name, ...line], patiently)

/**
 * `helm upgrade --install` of the chart as it is committed, with the values of the bed and some
 * more.
 */
export const upgrade = (namespace: string, settings: Words = []): Promise<string> =>
  helm(
    words`upgrade --install platform ${chart} --namespace ${namespace} --values ${valuesFile}
      --wait --wait-for-jobs --timeout ${PATIENCE} ${settings}`,
  )

/** One object, or a list of them, as the API server has it. */
export async function read<T>(line: Words): Promise<T> {
  // The caller names the kind, and the API server answers with that kind.
  return JSON.parse(await kubectl(words`get ${line} -o json`)) as T
}

export interface Pod {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly {
      readonly name: string
      readonly restartCount: number
    }[]
  }
}

/**
 * The pods of a namespace that are meant to stay: neither those of Jobs nor those that are about to
 * end.
 */
export async function longLivedPods(namespace: string): Promise<readonly Pod[]> {
  const { items } = await read<{ items: readonly Pod[] }>(words`pods -n ${namespace}`)
  return items.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      metadata.labels?.['batch.kubernetes.io/job-name'] === undefined &&
      metadata.labels?.['app.kubernetes.io/component'] !== 'test' &&
      status.phase !== 'Failed',
  )
}

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false

/** Waits until every Deployment and StatefulSet has been rolled out. */
export async function rolledOut(namespace: string): Promise<void> {
  const names = await kubectl(words`get deployments,statefulsets -n ${namespace} -o name`)
  for (const name of names.split('\n').filter(Boolean))
    await kubectl(words`rollout status ${name} -n ${namespace} --timeout=${PATIENCE}`)
}

/** Waits until something is so; fails with the sentence that it waited for. */
export async function comesTrue(
  what: string,
  isSo: () => Promise<boolean>,
  minutes = 5,
): Promise<void> {
  await until(isSo, { timeoutMs: minutes * 60_000 }).catch((cause: unknown) => {
    throw new Error(`not within ${minutes} minutes: ${what}`, { cause })
  })
}

/** A key of a Secret. */
export async function secretValue(namespace: string, name: string, key: string): Promise<string> {
  const { data } = await read<{ data: Record<string, string> }>(
    words`secret ${name} -n ${namespace}`,
  )
  return Buffer.from(data[key] ?? '', 'base64').toString()
}

/** Where a Service listens, for the node itself. */
export async function addressOf(namespace: string, service: string): Promise<string> {
  const { spec } = await read<{ spec: { clusterIP: string; ports: { port: number }[] } }>(
    words`service ${service} -n ${namespace}`,
  )
  return `http://${spec.clusterIP}:${spec.ports[0]?.port}`
}
