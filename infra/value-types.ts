import { boolean, group, integer, list, map, object, string, word } from './template/schema.ts'
import type { StringField } from './template/schema.ts'

// Patterns are read by JavaScript here and by RE2 in Helm: only what both understand alike.
const IMAGE_PATH = '[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*'

/** The name of another Kubernetes object. */
export const OBJECT_NAME = {
  pattern: /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
  expected: 'the name of a Kubernetes object',
}

/** The same, or nothing. */
export const objectName = (doc: string): StringField =>
  string('', doc, {
    pattern: /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/,
    expected: 'the name of a Kubernetes object, or ""',
  })

/** A key of a Secret or a ConfigMap. */
export const dataKey = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}$/,
    expected: 'a key of letters, digits, dots, dashes and underscores',
  })

/** The host of an image registry, or nothing. */
export const registry = (doc: string): StringField =>
  string('', doc, {
    pattern: /^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(\/[a-z0-9][a-z0-9._-]*)*\/?)?$/,
    expected: 'a registry such as "registry.example.com:5000", or ""',
  })

/** The path of an image in its registry; an empty default makes it optional. */
export const imagePath = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: new RegExp(value === '' ? `^(${IMAGE_PATH})?$` : `^${IMAGE_PATH}$`),
    expected: 'lower-case path components without a host or a tag, such as "team/collector"',
  })

const quantity = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/,
    expected: 'a quantity such as "500m" or "512Mi"',
    digits: { min: 1, max: 999_999 },
  })

/** The size of a volume. */
export const size = quantity

/** The image of a component. An empty tag stands for the chart's own application version. */
export const image = (name: string, tag: string, what: string) =>
  group(`The image of ${what}.`, {
    host: registry('Registry host. Empty means `global.image.registry`.'),
    name: imagePath(
      name,
      'Path in the registry. With `global.image.namePrefixOverride` only its last component counts.',
    ),
    tag: string(tag, `Tag.${tag === '' ? " Empty means the chart's appVersion." : ''}`, {
      pattern:
        tag === ''
          ? /^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$/
          : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/,
      expected: 'an image tag in quotes, such as "1.2.3"',
    }),
    digest: string('', 'Digest that pins the image beside its tag. Empty means none.', {
      pattern: /^(sha256:[a-f0-9]{64})?$/,
      expected: 'a digest such as "sha256:…" with 64 hexadecimal digits, or ""',
    }),
    pullPolicy: word(
      ['IfNotPresent', 'Always', 'Never'],
      'IfNotPresent',
      'When nodes pull the image.',
    ),
    pullSecret: objectName('Pull secret. Empty means `global.image.pullSecret`.'),
  })

interface Amounts {
  readonly cpu: string
  readonly memory: string
}

/** Limits and requests of a container. */
export const resources = (limits: Amounts, requests: Amounts) =>
  group('Compute resources of each pod.', {
    limits: group('The most that a pod may use.', {
      cpu: quantity(limits.cpu, 'CPU limit.'),
      memory: quantity(limits.memory, 'Memory limit.'),
    }),
    requests: group('What a node must have free for a pod.', {
      cpu: quantity(requests.cpu, 'CPU request.'),
      memory: quantity(requests.memory, 'Memory request.'),
    }),
  })

export const LABEL_KEY = {
  pattern:
    /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
  expected: 'a key such as "example.com/role"',
}

const LABEL_VALUE = {
  pattern: /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
  expected: 'a label value: up to 63 letters, digits, dots, dashes and underscores',
}

const ANY_TEXT = { pattern: /^/, expected: 'a string' }

/** Labels and annotations that the chart sets itself; a second one of the same name would be no valid YAML. */
const OWN_KEYS = /^(app\.kubernetes\.io|checksum|prometheus\.io|platform)\//

/** The pods of a component: where they may run, and what is written on them. */
export const pods = {
  nodeSelector: map('Node labels for pod placement.', { key: LABEL_KEY, value: LABEL_VALUE }),
  tolerations: list('Node taints that the pods tolerate.', {
    key: string('', 'Taint key.', LABEL_KEY),
    operator: word(['Exists', 'Equal'], 'Equal', 'How key and value are compared.'),
    value: string('', 'Taint value.', LABEL_VALUE),
    effect: word(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], 'NoSchedule', 'Taint effect.'),
    tolerationSeconds: integer(0, 'How long a NoExecute taint is tolerated.', {
      min: 0,
      max: 999_999,
    }),
  }),
  affinity: object('Affinity of the pods, as in a pod specification.'),
  priorityClassName: objectName('Priority class of the pods.'),
  podLabels: map('More labels of the pods.', {
    key: { ...LABEL_KEY, except: OWN_KEYS },
    value: LABEL_VALUE,
  }),
  podAnnotations: map('More annotations of the pods.', {
    key: { ...LABEL_KEY, except: OWN_KEYS },
    value: ANY_TEXT,
  }),
}

/** Replicas that follow the load. */
export const autoscaling = group(
  'A HorizontalPodAutoscaler that sets the number of pods instead of `replicaCount`.',
  {
    enabled: boolean(false, 'Create it.'),
    minReplicas: integer(2, 'Fewest pods.', { min: 1, max: 1000 }),
    maxReplicas: integer(10, 'Most pods.', { min: 1, max: 1000 }),
    targetCPUUtilizationPercentage: integer(
      70,
      'CPU use, in percent of the request, that it aims at.',
      {
        min: 1,
        max: 1000,
      },
    ),
  },
)

/** Files of the operator's own in the containers of our programs. */
export const mounts = (what: string) =>
  list(
    `${what} to mount, such as certificates.`,
    {
      name: string('', `Name of the ${what.replace(/s$/, '')}.`, {
        pattern: /^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$/,
        expected: 'a name of up to 52 lower-case letters, digits and dashes',
      }),
      mountPath: string('', 'Directory in the container.', {
        pattern: /^\/[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/,
        expected: 'an absolute path',
      }),
    },
    ['name', 'mountPath'],
  )

/** An http(s) URL. */
export const url = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~/-]*)?$/,
    expected: 'an http(s) URL',
  })

/** A URL, or nothing. */
export const optionalUrl = (doc: string): StringField =>
  string('', doc, {
    pattern: /^(https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~/-]*)?)?$/,
    expected: 'an http(s) URL, or ""',
  })

/** The name of a namespace, or nothing. */
export const namespace = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern:
      value === ''
        ? /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/
        : /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    expected: `the name of a namespace${value === '' ? ', or ""' : ''}`,
  })

/** A host name that users reach, or nothing. */
export const hostname = (doc: string): StringField =>
  string('', doc, {
    pattern: /^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$/,
    expected: 'a host name such as "platform.example.com", or ""',
  })

/** A length of time as Prometheus writes it. */
export const duration = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[1-9][0-9]{0,4}(ms|s|m|h)$/,
    expected: 'a duration such as "30s"',
  })

/** Number of pods of a component. */
export const replicas = (what: string) =>
  integer(1, `Number of ${what} pods.`, { min: 0, max: 1000 })

/** Annotations of Kubernetes objects. */
export const annotations = (doc: string) => map(doc, { key: LABEL_KEY, value: ANY_TEXT })

/** Labels of Kubernetes objects, beside those that the chart sets. */
export const labels = (doc: string) =>
  map(doc, { key: { ...LABEL_KEY, except: OWN_KEYS }, value: LABEL_VALUE })

/** Environment variables. */
export const variables = (doc: string) =>
  map(doc, {
    key: { pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, expected: 'a variable name' },
    value: ANY_TEXT,
  })

/** A secret text that the chart generates when it is empty. */
export const secret = (doc: string): StringField =>
  formerSecret(`${doc} Empty means generated on first install and kept.`)

/** As `secret`, of any length: callers may bring a token that they have already. */
export const token = (doc: string): StringField =>
  string('', `${doc} Empty means generated on first install and kept.`, {
    pattern: /^[!-~]*$/,
    expected: 'printable ASCII characters without spaces, or ""',
  })

/** A secret text that is there only while it is set. */
export const formerSecret = (doc: string): StringField =>
  string('', doc, {
    pattern: /^([!-~]{32,})?$/,
    expected: 'at least 32 printable ASCII characters without spaces, or ""',
  })

/** The name of a PostgreSQL role. */
export const databaseUser = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[A-Za-z_][A-Za-z0-9_.@-]{0,62}$/,
    expected: 'a PostgreSQL role name',
  })

/** How connections to an external PostgreSQL are encrypted. */
export const sslMode = (doc: string) => word(['disable', 'require', 'verify-full'], 'require', doc)

/** The name of a PostgreSQL database. */
export const databaseName = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/,
    expected: 'a PostgreSQL database name of up to 63 letters, digits, - and _',
  })
