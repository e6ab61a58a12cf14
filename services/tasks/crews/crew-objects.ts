import { createHash } from 'node:crypto'

const CREW_PORT = 8000
const USER = 1000
/** The time for the calls in flight in a pod that is replaced; then another pod goes on. */
const DRAIN_SECONDS = 300
/** On a pod template it makes a rolling restart when the Secret changes. */
const HASH_ANNOTATION = 'platform/secrets-hash'
const CA_KEY = 'ca.crt'
const CA_DIRECTORY = '/etc/platform/ca'

/** An object for the API server, as server-side apply takes it. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: 'Namespace' | 'Secret' | 'Service' | 'Deployment' | 'NetworkPolicy'
  readonly metadata: { readonly name: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

interface CrewSpec {
  /** The namespace of the platform that it belongs to. */
  readonly home?: string | undefined
  /** Names all of its objects. */
  readonly appId: string
  readonly namespace: string
  readonly image: string
  readonly imagePullSecret?: string | undefined
  /** The cluster assigns user and group, and refuses others. @default false */
  readonly hasArbitraryUser?: boolean | undefined
  /** Variables that anybody may read who may read Deployments. */
  readonly env: Readonly<Record<string, string>>
  /** Variables that stand in a Secret. */
  readonly secretEnv: Readonly<Record<string, string>>
  /** Certificate authorities, in PEM, that the crew trusts beside the public ones. */
  readonly caBundle?: string | undefined
}

/** The objects of one crew. */
export interface CrewObjects {
  readonly secret: KubernetesObject
  readonly service: KubernetesObject
  readonly deployment: KubernetesObject
}

/** Returns the address at which the workers reach a crew. */
export const crewUrl = ({ appId, namespace }: Pick<CrewSpec, 'appId' | 'namespace'>) =>
  `http://${appId}.${namespace}.svc:${CREW_PORT}`

/** The namespace in such an address; none where somebody runs the crew in another way. */
export const namespaceOf = (url: string): string | undefined =>
  /^http:\/\/[^.]+\.([^.]+)\.svc:\d+$/.exec(url)?.[1]

/** Selects the pods of a crew. */
export const crewSelector = (appId: string) => ({
  'app.kubernetes.io/name': 'crew',
  'app.kubernetes.io/instance': appId,
})

/** The labels of all objects that this platform made, by which `kubectl delete` finds them. */
export const ownLabels = (home: string | undefined): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/managed-by': 'crew-platform',
  ...(home === undefined ? {} : { 'platform/home': home }),
})

/**
 * A namespace of an organization's own, where only pods run that pass Pod Security "restricted".
 */
export const crewNamespace = (name: string, home?: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { ...ownLabels(home), 'pod-security.kubernetes.io/enforce': 'restricted' },
  },
})

/** Returns the objects of one crew, in the order in which they are applied. */
export function crewObjects(crew: CrewSpec): CrewObjects {
  const { appId, namespace, home } = crew
  const labels = { ...crewSelector(appId), ...ownLabels(home) }
  const metadata = { name: appId, namespace, labels }
  const data = Object.fromEntries(
    Object.entries(secretFiles(crew)).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]),
  )
  return {
    secret: { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data },
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        type: 'ClusterIP',
        selector: crewSelector(appId),
        ports: [{ name: 'http', port: CREW_PORT, targetPort: 'http', protocol: 'TCP' }],
      },
    },
    deployment: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      // Without `replicas`: one, or as many as somebody scaled it to.
      spec: {
        revisionHistoryLimit: 2,
        selector: { matchLabels: crewSelector(appId) },
        template: {
          metadata: { labels, annotations: { [HASH_ANNOTATION]: fingerprint(data) } },
          spec: podSpec(crew),
        },
      },
    },
  }
}

const secretFiles = ({ secretEnv, caBundle }: CrewSpec): Readonly<Record<string, string>> =>
  caBundle === undefined ? secretEnv : { ...secretEnv, [CA_KEY]: caBundle }

const fingerprint = (data: Readonly<Record<string, string>>): string =>
  createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 12)

/** Passes Pod Security "restricted". */
const podSpec = (crew: CrewSpec) => ({
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: DRAIN_SECONDS + 30,
  ...(crew.imagePullSecret ? { imagePullSecrets: [{ name: crew.imagePullSecret }] } : {}),
  securityContext: {
    ...(crew.hasArbitraryUser ? {} : { runAsUser: USER, runAsGroup: USER, fsGroup: USER }),
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  containers: [container(crew)],
  volumes: [
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ...(crew.caBundle === undefined
      ? []
      : [
          {
            name: 'ca-bundle',
            secret: { secretName: crew.appId, items: [{ key: CA_KEY, path: CA_KEY }] },
          },
        ]),
  ],
})

const container = (crew: CrewSpec) => ({
  name: 'crew',
  image: crew.image,
  imagePullPolicy: 'IfNotPresent',
  command: ['node', 'build/crew/main.js'],
  ports: [{ name: 'http', containerPort: CREW_PORT, protocol: 'TCP' }],
  env: [...plainVariables(crew), ...secretVariables(crew)],
  startupProbe: healthProbe({ periodSeconds: 2, failureThreshold: 60 }),
  readinessProbe: healthProbe({ periodSeconds: 5, failureThreshold: 3 }),
  livenessProbe: healthProbe({ periodSeconds: 10, failureThreshold: 3 }),
  resources: {
    requests: { cpu: '50m', memory: '128Mi' },
    limits: { cpu: '500m', memory: '512Mi' },
  },
  volumeMounts: [
    { name: 'tmp', mountPath: '/tmp' },
    ...(crew.caBundle === undefined
      ? []
      : [{ name: 'ca-bundle', mountPath: CA_DIRECTORY, readOnly: true }]),
  ],
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
})

const plainVariables = ({ env, caBundle }: CrewSpec) =>
  Object.entries({
    ...env,
    PORT: String(CREW_PORT),
    CREW_DRAIN_SECONDS: String(DRAIN_SECONDS),
    UV_THREADPOOL_SIZE: '16',
    ...(caBundle === undefined ? {} : { NODE_EXTRA_CA_CERTS: `${CA_DIRECTORY}/${CA_KEY}` }),
  }).map(([name, value]) => ({ name, value: literal(value) }))

/** One by one: the Secret also has keys that are files. */
const secretVariables = ({ appId, secretEnv }: CrewSpec) =>
  Object.keys(secretEnv).map((key) => ({
    name: key,
    valueFrom: { secretKeyRef: { name: appId, key } },
  }))

/** Kubernetes would replace `$(NAME)` by another variable. */
const literal = (value: string): string => value.replaceAll('$(', () => '$$(')

const healthProbe = (timing: { periodSeconds: number; failureThreshold: number }) => ({
  httpGet: { path: '/health', port: 'http' },
  timeoutSeconds: 5,
  ...timing,
})
