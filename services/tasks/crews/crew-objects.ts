import { createHash } from 'node:crypto'

export const CREW_PORT = 8000
const USER = 1000
/** Runs in hand may go on for so long in a pod that is replaced; then another pod takes them up. */
const DRAIN_SECONDS = 300
/** On a pod template it makes a rolling restart when the Secret changes. */
const HASH_ANNOTATION = 'platform/secrets-hash'

/** An object for the API server, as server-side apply takes it. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

export interface CrewDeployment {
  /** Names all of its objects. */
  readonly appId: string
  readonly namespace: string
  readonly image: string
  readonly imagePullSecret?: string | undefined
  /** Variables that anybody may read who may read Deployments. */
  readonly env: Readonly<Record<string, string>>
  /** Variables that stand in a Secret. */
  readonly secretEnv: Readonly<Record<string, string>>
}

export interface CrewObjects {
  readonly secret: KubernetesObject
  readonly service: KubernetesObject
  readonly deployment: KubernetesObject
}

/** Where the workers reach a crew. */
export const crewUrl = ({ appId, namespace }: Pick<CrewDeployment, 'appId' | 'namespace'>) =>
  `http://${appId}.${namespace}.svc:${CREW_PORT}`

/** Selects the pods of a crew. */
export const crewSelector = (appId: string) => ({
  'app.kubernetes.io/name': 'crew',
  'app.kubernetes.io/instance': appId,
})

/** A namespace of an organization's own, where only pods run that pass Pod Security "restricted". */
export const crewNamespace = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: {
      'app.kubernetes.io/managed-by': 'crew-platform',
      'pod-security.kubernetes.io/enforce': 'restricted',
    },
  },
})

/** The objects of one crew, in the order in which they are applied. */
export function crewObjects(crew: CrewDeployment): CrewObjects {
  const { appId, namespace, secretEnv } = crew
  const labels = { ...crewSelector(appId), 'app.kubernetes.io/managed-by': 'crew-platform' }
  const metadata = { name: appId, namespace, labels }
  const data = Object.fromEntries(
    Object.entries(secretEnv).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
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

const fingerprint = (data: Readonly<Record<string, string>>): string =>
  createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 12)

/** Passes Pod Security "restricted". */
const podSpec = (crew: CrewDeployment) => ({
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: DRAIN_SECONDS + 30,
  ...(crew.imagePullSecret ? { imagePullSecrets: [{ name: crew.imagePullSecret }] } : {}),
  securityContext: {
    runAsUser: USER,
    runAsGroup: USER,
    fsGroup: USER,
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  containers: [container(crew)],
  volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }],
})

const container = ({ appId, image, env }: CrewDeployment) => ({
  name: 'crew',
  image,
  imagePullPolicy: 'IfNotPresent',
  command: ['node', 'build/crew/main.js'],
  ports: [{ name: 'http', containerPort: CREW_PORT, protocol: 'TCP' }],
  env: Object.entries({ ...env, ...OWN_ENV }).map(([name, value]) => ({
    name,
    value: literal(value),
  })),
  envFrom: [{ secretRef: { name: appId } }],
  startupProbe: probe({ periodSeconds: 2, failureThreshold: 60 }),
  readinessProbe: probe({ periodSeconds: 5, failureThreshold: 3 }),
  livenessProbe: probe({ periodSeconds: 10, failureThreshold: 3 }),
  resources: {
    requests: { cpu: '50m', memory: '128Mi' },
    limits: { cpu: '500m', memory: '512Mi' },
  },
  volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
})

const OWN_ENV = {
  PORT: String(CREW_PORT),
  CREW_DRAIN_SECONDS: String(DRAIN_SECONDS),
  UV_THREADPOOL_SIZE: '16',
}

/** Kubernetes would replace `$(NAME)` by another variable. */
const literal = (value: string): string => value.replaceAll('$(', () => '$$(')

const probe = (timing: { periodSeconds: number; failureThreshold: number }) => ({
  httpGet: { path: '/health', port: 'http' },
  timeoutSeconds: 5,
  ...timing,
})
