import type { CrewResources } from '../../../platform/crews/crew-resources.ts'
import {
  fingerprint,
  healthProbe,
  plainVariables,
  RESTRICTED_CONTAINER,
  restrictedPod,
  secretVariables,
  toSecretData,
} from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import type { WantedCrew } from '../crew-host.ts'
import type { CrewCluster } from './cluster-settings.ts'
import { CREW_PORT } from './crew-names.ts'
import type { CrewNames } from './crew-names.ts'
import { CA_KEY, trustOf } from './crew-trust.ts'
import type { Trust } from './crew-trust.ts'
import { CREW_ROOT, FETCH_AND_INSTALL, PROJECT, SERVE, UV_VARIABLES } from './install-script.ts'

/** The time for the runs in flight in a pod that is replaced; then another one goes on. */
export const DRAIN_SECONDS = 300
/** The time for a pod to install a crew and to become ready. */
export const ROLLOUT_SECONDS = 900
/** On a pod template it replaces the pods: what they run with has changed. */
const CONTENT = 'platform/content'

/** A token of 90 days, which is signed anew each time: pods get the newest one every 30 days. */
const SIGNED = 'OTEL_EXPORTER_OTLP_HEADERS'
const RENEWAL_DAYS = 30
const DAY_MS = 86_400_000

/** The environment without what changes with each look at it. */
export function lasting({ environment, wanted }: DescribedCrew): Readonly<Record<string, string>> {
  const isSigned = SIGNED in environment && !(SIGNED in wanted.variables)
  return isSigned ? { ...environment, [SIGNED]: renewalOf(wanted) } : environment
}

/** Changes every 30 days, and not for all crews on the same one. */
const renewalOf = ({ id }: WantedCrew): string =>
  String(Math.floor((Date.now() / DAY_MS + (id % RENEWAL_DAYS)) / RENEWAL_DAYS))

/** What no variable of a project can change: the probes ask this port. */
const OWN_VARIABLES = {
  PORT: String(CREW_PORT),
  HOST: '0.0.0.0',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  CREW_DRAIN_SECONDS: String(DRAIN_SECONDS),
}

/** A crew with all that its objects say. */
export interface DescribedCrew {
  readonly wanted: WantedCrew
  readonly names: CrewNames
  readonly cluster: CrewCluster
  readonly resources: CrewResources
  /** The variables of the crew's program, secrets among them. */
  readonly environment: Readonly<Record<string, string>>
  /** Where a pod fetches the source; it ends, and is renewed before it does. */
  readonly sourceUrl: string
  /** The tools indexes with their token, as uv takes them; it is renewed likewise. */
  readonly indexes: string
  /** Certificate authorities of the operator's own, in PEM. */
  readonly caBundle?: string | undefined
  /** By its digest, as nodes pull it; undefined: the crew is installed when its pods start. */
  readonly image?: string | undefined
}

/** The variables that the crew's program runs with, and the authorities that it trusts. */
export const variablesSecret = ({
  names,
  environment,
  caBundle,
}: DescribedCrew): KubernetesObject =>
  secret(names, names.name, {
    ...environment,
    ...(caBundle === undefined ? {} : { [CA_KEY]: caBundle }),
  })

/** What a pod needs to install the crew. Pods that start later read the renewed one. */
export const installSecret = ({
  names,
  cluster,
  sourceUrl,
  indexes,
}: DescribedCrew): KubernetesObject =>
  secret(names, names.install, { SOURCE_URL: sourceUrl, UV_INDEX: indexes, ...cluster.proxy })

const secret = (
  { namespace, labels }: CrewNames,
  name: string,
  texts: Readonly<Record<string, string>>,
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace, labels },
  type: 'Opaque',
  data: toSecretData(texts),
})

/** The address of the crew inside the cluster. */
export const crewService = ({ names }: DescribedCrew): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: names.name, namespace: names.namespace, labels: names.labels },
  spec: {
    type: 'ClusterIP',
    selector: names.selector,
    ports: [{ name: 'http', port: CREW_PORT, targetPort: 'http', protocol: 'TCP' }],
  },
})

/** Returns the Deployment of a crew: of its image, or installed when a pod starts. */
export function crewDeployment(crew: DescribedCrew): KubernetesObject {
  const { wanted, names } = crew
  const { name, namespace, labels, selector } = names
  const { restartedAt } = wanted
  const { caBundle } = crew
  const known = [lasting(crew), restartedAt, ...(caBundle === undefined ? [] : [caBundle])]
  const content = fingerprint(known)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas: wanted.replicas,
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: ROLLOUT_SECONDS,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: { ...labels, ...selector }, annotations: { [CONTENT]: content } },
        spec: podSpec(crew),
      },
    },
  }
}

/** Passes Pod Security "restricted". */
function podSpec(crew: DescribedCrew) {
  const trust = trustOf({ ...crew, secretName: crew.names.name })
  const isInstalled = crew.image === undefined
  const initContainers = [...trust.initContainers, ...(isInstalled ? [installer(crew, trust)] : [])]
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: DRAIN_SECONDS + 30,
    ...pullSecretsOf(crew),
    securityContext: restrictedPod(crew.cluster),
    ...(initContainers.length === 0 ? {} : { initContainers }),
    containers: [server(crew, trust)],
    volumes: [
      { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
      ...(isInstalled ? [{ name: 'crew', emptyDir: { sizeLimit: '8Gi' } }] : []),
      ...trust.volumes,
    ],
  }
}

function pullSecretsOf({ image, cluster, names, caBundle }: DescribedCrew) {
  const own = image === undefined ? [] : [names.pull]
  const ofPython = image === undefined || caBundle !== undefined ? cluster.pullSecrets : []
  const secrets = [...own, ...ofPython]
  return secrets.length === 0 ? {} : { imagePullSecrets: secrets.map((name) => ({ name })) }
}

const installer = ({ wanted, names, cluster, resources }: DescribedCrew, trust: Trust) => ({
  name: 'install',
  image: cluster.pythonImage,
  imagePullPolicy: cluster.pullPolicy,
  command: ['sh', '-c', FETCH_AND_INSTALL],
  env: [
    ...plainVariables({
      ...UV_VARIABLES,
      UV_CACHE_DIR: `${CREW_ROOT}/cache`,
      ...trust.variables,
      HOME: '/tmp',
      SOURCE_DIGEST: wanted.source.archiveSha256,
      ...(wanted.settings.pythonVersion ? { PYTHON_VERSION: wanted.settings.pythonVersion } : {}),
    }),
    ...secretVariables(names.install, ['SOURCE_URL', 'UV_INDEX', ...Object.keys(cluster.proxy)]),
  ],
  resources,
  volumeMounts: [
    { name: 'tmp', mountPath: '/tmp' },
    { name: 'crew', mountPath: CREW_ROOT },
    ...trust.mounts,
  ],
  securityContext: RESTRICTED_CONTAINER,
})

const server = (crew: DescribedCrew, trust: Trust) => ({
  name: 'crew',
  image: crew.image ?? crew.cluster.pythonImage,
  // An image by its digest never changes.
  imagePullPolicy: crew.image === undefined ? crew.cluster.pullPolicy : 'IfNotPresent',
  ...(crew.image === undefined ? { command: SERVE, workingDir: PROJECT } : {}),
  ports: [{ name: 'http', containerPort: CREW_PORT, protocol: 'TCP' }],
  env: [
    ...secretVariables(
      crew.names.name,
      Object.keys(crew.environment).filter((name) => !(name in OWN_VARIABLES)),
    ),
    ...plainVariables({ ...without(trust.variables, crew.environment), ...OWN_VARIABLES }),
  ],
  // A project may import for minutes.
  startupProbe: healthProbe({ periodSeconds: 2, failureThreshold: 150 }),
  readinessProbe: healthProbe({ periodSeconds: 5, failureThreshold: 3 }),
  livenessProbe: healthProbe({ periodSeconds: 10, failureThreshold: 6 }),
  resources: crew.resources,
  volumeMounts: [
    { name: 'tmp', mountPath: '/tmp' },
    ...(crew.image === undefined ? [{ name: 'crew', mountPath: CREW_ROOT, readOnly: true }] : []),
    ...trust.mounts,
  ],
  securityContext: RESTRICTED_CONTAINER,
})

/** A project may name authorities of its own. */
const without = (variables: Trust['variables'], others: object) =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !(name in others)))
