import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CHECKS, COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { createNaming } from '../../../../services/web/diagnostics/cluster-commands.ts'
import { usage } from '../../../../services/tasks/start.ts'
import type { StoredObject } from '../../../support/kubernetes.ts'
import { LIST, startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'
import { resultOf, warningsOf } from './support/web.ts'

const NAME = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SELECTOR = `-l app\\.kubernetes\\.io/component=${NAME}`
const TASK = '[a-z_]+(:[a-z_]+)*'

/** Every form of a command that a remedy may have. */
const FORMS = [
  `kubectl -n ${NAME} scale deployment ${NAME} --replicas=1`,
  `kubectl -n ${NAME} (describe|get) deployment ${NAME}`,
  `kubectl -n ${NAME} logs (deployment/${NAME}|${SELECTOR})( --all-containers)?`,
  `kubectl -n ${NAME} rollout status deployment(/${NAME})?`,
  `kubectl -n ${NAME} rollout restart deployment(/${NAME}( deployment/${NAME})*)?`,
  `kubectl -n ${NAME} exec deploy/${NAME} -- node build/(tasks|worker)/main\\.js ${TASK}`,
  `kubectl -n ${NAME} exec deploy/${NAME} -- node build/worker/main\\.js verify-builds`,
  `kubectl -n ${NAME} delete job ${SELECTOR}`,
  'kubectl apply -f dist(/[0-9]{2}-[a-z]+\\.yaml)?',
  `helm upgrade ${NAME} dist/chart -n ${NAME} --reuse-values`,
  `helm rollback ${NAME} -n ${NAME}`,
  `npm run task -- ${TASK}`,
].map((form) => new RegExp(`^${form}$`))

const commandsOf = (remedy: unknown): readonly string[] =>
  [...String(remedy).matchAll(/`([^`]+)`/g)]
    .map(([, text = '']) => text)
    .filter((text) => /^(kubectl|helm|npm|node) /.test(text))

/** The commands of a remedy that have no known form, or name no task. */
const unknownIn = (remedy: unknown): readonly string[] =>
  commandsOf(remedy).filter((command) => {
    const [, task] = /(?:npm run task --|tasks\/main\.js) (\S+)$/.exec(command) ?? []
    const isTask = task === undefined || usage().includes(`\n  ${task} `)
    return !isTask || !FORMS.some((form) => form.test(command))
  })

const DELETE_JOB = 'kubectl -n install delete job -l app.kubernetes.io/component=crews'
const UPGRADE = 'helm upgrade acme dist/chart -n install --reuse-values'

const progressing = (status: string, reason: string) => [
  { type: 'Progressing', status, reason, message: 'x' },
]
const well = { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1 }

/** A Deployment in each condition; undefined where there is none. */
const STATES = {
  missing: undefined,
  scaled_to_zero: { spec: { replicas: 0 }, status: { observedGeneration: 1 } },
  unready: { spec: { replicas: 1 }, status: { ...well, readyReplicas: 0 } },
  surging: { spec: { replicas: 1 }, status: { ...well, replicas: 2, readyReplicas: 2 } },
  progressing: {
    spec: { replicas: 1 },
    status: {
      ...well,
      updatedReplicas: 0,
      conditions: progressing('True', 'ReplicaSetUpdated'),
    },
  },
  stuck: {
    spec: { replicas: 1 },
    status: {
      ...well,
      replicas: 2,
      conditions: progressing('False', 'ProgressDeadlineExceeded'),
    },
  },
} as const

type State = keyof typeof STATES

const WORKER: Readonly<Record<State, readonly string[]>> = {
  missing: [UPGRADE, 'kubectl apply -f dist'],
  scaled_to_zero: ['kubectl -n install scale deployment acme-worker --replicas=1'],
  unready: [
    'kubectl -n install describe deployment acme-worker',
    'kubectl -n install logs deployment/acme-worker --all-containers',
  ],
  surging: ['kubectl -n install rollout status deployment/acme-worker'],
  progressing: [],
  stuck: ['kubectl -n install describe deployment acme-worker', 'helm rollback acme -n install'],
}

/** Of a crew one ready pod is enough. */
const RUNNER: Readonly<Record<State, readonly string[]>> = {
  missing: [UPGRADE, DELETE_JOB, 'kubectl apply -f dist/12-crews.yaml'],
  scaled_to_zero: ['kubectl -n crews scale deployment crew-runner --replicas=1'],
  unready: [
    'kubectl -n crews describe deployment crew-runner',
    'kubectl -n crews logs deployment/crew-runner --all-containers',
  ],
  surging: [],
  progressing: [],
  stuck: [],
}

describe('the remedy of a Deployment has the commands of its condition (SPEC 2.4):', () => {
  let world: Dependencies
  let before: Map<string, StoredObject>

  beforeAll(async () => {
    world = await startDependencies()
    before = new Map(world.kubernetes.objects)
  })

  afterEach(() => {
    for (const [path, object] of before) world.kubernetes.objects.set(path, object)
  })

  afterAll(() => world.stop())

  const deployments = () => (world.kubernetes.objects.get(LIST)?.['items'] ?? []) as StoredObject[]

  const withState = (name: string, state: State): StoredObject | undefined => {
    const found = STATES[state]
    return found && { metadata: { name, generation: 1 }, ...found }
  }

  const remediesIn = async (component: 'platform_pods' | 'designer'): Promise<string> => {
    const result = await resultOf(component, world.options())
    const warnings = (warningsOf(result) ?? []) as readonly { remediation: string }[]
    const texts = [
      result.details?.['remediation'] ?? '',
      ...warnings.map((each) => each.remediation),
    ]
    expect(unknownIn(texts.join(' '))).toEqual([])
    return texts.join(' ')
  }

  it.each(Object.entries(WORKER))('platform_pods, %s', async (state, commands) => {
    const items = deployments().flatMap((item) =>
      item.metadata['name'] === 'acme-worker'
        ? (withState('acme-worker', state as State) ?? [])
        : item,
    )
    world.kubernetes.objects.set(LIST, { metadata: {}, items })
    expect(commandsOf(await remediesIn('platform_pods'))).toEqual(commands)
  })

  it.each(Object.entries(RUNNER))('designer, %s', async (state, commands) => {
    const path = '/apis/apps/v1/namespaces/crews/deployments/crew-runner'
    const object = withState('crew-runner', state as State)
    if (object) world.kubernetes.objects.set(path, object)
    else world.kubernetes.objects.delete(path)
    expect(commandsOf(await remediesIn('designer'))).toEqual(commands)
  })

  it('names each Deployment that is down, and common advice once', async () => {
    const items = deployments().map((item) => ({ ...item, status: {} }))
    world.kubernetes.objects.set(LIST, { metadata: {}, items })
    const remedy = await remediesIn('platform_pods')
    expect(commandsOf(remedy).filter((each) => each.includes('describe'))).toHaveLength(
      items.length,
    )
    expect(remedy.match(/ImagePullBackOff/g)).toHaveLength(1)
  })
})

describe('the commands of all remedies', () => {
  const named = createNaming({
    RELEASE_NAME: 'acme',
    RELEASE_FULLNAME: 'acme-platform',
    POD_NAMESPACE: 'install',
  })
  const codes = COMPONENT_NAMES.flatMap((name) =>
    Object.values({ ...CHECKS[name].failures, ...CHECKS[name].warnings }),
  )

  it.each([...new Map(codes.map((code) => [code.code, code]))])('are complete: %s', (_, code) => {
    expect(unknownIn(named(code).remediation)).toEqual([])
  })
})
