import {
  fingerprint,
  healthProbe,
  ownLabels,
  plainVariables,
  RESTRICTED_CONTAINER,
  restrictedPod,
  secretVariables,
  toSecretData,
} from '../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../shared/kubernetes/objects.ts'

const CREW_PORT = 8000
/** The time for the calls in flight in a pod that is replaced; then another pod goes on. */
const DRAIN_SECONDS = 300
/** On a pod template it makes a rolling restart when the Secret changes. */
const HASH_ANNOTATION = 'platform/secrets-hash'
const CA_KEY = 'ca.crt'
const CA_DIRECTORY = '/etc/platform/ca'

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

/** Returns the objects of one crew, in the order in which they are applied. */
export function crewObjects(crew: CrewSpec): CrewObjects {
  const { appId, namespace, home } = crew
  const labels = { ...crewSelector(appId), ...ownLabels(home) }
  const metadata = { name: appId, namespace, labels }
  const data = toSecretData(
    crew.caBundle === undefined ? crew.secretEnv : { ...crew.secretEnv, [CA_KEY]: crew.caBundle },
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

/** Passes Pod Security "restricted". */
const podSpec = (crew: CrewSpec) => ({
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: DRAIN_SECONDS + 30,
  ...(crew.imagePullSecret ? { imagePullSecrets: [{ name: crew.imagePullSecret }] } : {}),
  securityContext: restrictedPod(crew),
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
  // More, shorter collections of garbage: each one of 6 ms holds up all runs.
  command: ['node', '--max-semi-space-size=2', 'build/crew/main.js'],
  ports: [{ name: 'http', containerPort: CREW_PORT, protocol: 'TCP' }],
  // One by one: the Secret also has keys that are files.
  env: [...variables(crew), ...secretVariables(crew.appId, Object.keys(crew.secretEnv))],
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
  securityContext: RESTRICTED_CONTAINER,
})

const variables = ({ env, caBundle }: CrewSpec) =>
  plainVariables({
    ...env,
    PORT: String(CREW_PORT),
    CREW_DRAIN_SECONDS: String(DRAIN_SECONDS),
    UV_THREADPOOL_SIZE: '16',
    ...(caBundle === undefined ? {} : { NODE_EXTRA_CA_CERTS: `${CA_DIRECTORY}/${CA_KEY}` }),
  })
