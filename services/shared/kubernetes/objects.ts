import { createHash } from 'node:crypto'

/** The user of containers, unless the cluster assigns one. */
const USER = 1000

/** The kinds of objects that the platform makes. */
export type ObjectKind = 'Namespace' | 'Secret' | 'Service' | 'Deployment' | 'NetworkPolicy' | 'Job'

/** An object for the API server, as server-side apply takes it. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: ObjectKind
  readonly metadata: { readonly name: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** Labels of objects and pods. */
export type Labels = Readonly<Record<string, string>>

/** The labels of all objects that this platform made, by which `kubectl delete` finds them. */
export const ownLabels = (home: string | undefined): Labels => ({
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

/** Returns the `data` of a Secret. */
export const toSecretData = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )

/** A short text that changes with a structure; on a pod template it makes a rolling restart. */
export const fingerprint = (structure: unknown): string =>
  createHash('sha256').update(JSON.stringify(structure)).digest('hex').slice(0, 12)

/** The security context of a pod that passes Pod Security "restricted". */
export const restrictedPod = ({
  hasArbitraryUser,
}: {
  hasArbitraryUser?: boolean | undefined
}) => ({
  ...(hasArbitraryUser ? {} : { runAsUser: USER, runAsGroup: USER, fsGroup: USER }),
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
})

/** The security context of a container that can neither change its image nor gain a privilege. */
export const RESTRICTED_CONTAINER = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/** Variables of a container, with their values. */
export const plainVariables = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([name, value]) => ({ name, value: literal(value) }))

/** Variables of a container, from the keys of a Secret that bear their names. */
export const secretVariables = (secret: string, keys: readonly string[]) =>
  keys.map((key) => ({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } }))

/** Kubernetes would replace `$(NAME)` by another variable. */
const literal = (value: string): string => value.replaceAll('$(', () => '$$(')

/** A probe that asks a crew for `/health`. */
export const healthProbe = (timing: { periodSeconds: number; failureThreshold: number }) => ({
  httpGet: { path: '/health', port: 'http' },
  timeoutSeconds: 5,
  ...timing,
})
