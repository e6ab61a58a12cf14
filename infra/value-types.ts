import {
  ANY_TEXT,
  DOMAIN,
  FOREIGN_KEY,
  LABEL_KEY,
  LABEL_VALUE,
  NO_DOMAIN,
  OBJECT_NAME,
} from './kubernetes-names.ts'
import {
  group,
  integer,
  list,
  map,
  optionalQuantity,
  quantity,
  string,
  word,
} from './template/schema.ts'
import type { StringField } from './template/schema.ts'
import { affinity } from './values/affinity.ts'
import { tolerations } from './values/tolerations.ts'

// Patterns are read by JavaScript here and by RE2 in Helm: only what both understand alike.
const IMAGE_PATH = '[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*'

/** The name of another Kubernetes object, or nothing. */
export const objectName = (doc: string): StringField =>
  string('', doc, {
    pattern: /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/,
    except: NO_DOMAIN,
    expected: 'the name of a Kubernetes object, or ""',
  })

/** An object in JSON, or nothing. */
export const json = (doc: string, what: string): StringField =>
  string('', `${doc} Empty means none.`, {
    pattern: /^([ \t\r\n]*\{[\s\S]*\}[ \t\r\n]*)?$/,
    expected: `${what} in JSON, or ""`,
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

/** The size of a volume. */
export const size = (value: string, doc: string) => quantity(value, doc)

/** The image of a component. An empty tag means the chart's own application version. */
export const image = (name: string, tag: string, what: string) =>
  group(`The image of ${what}.`, {
    host: registry('Registry host. Empty means `global.image.registry`.'),
    name: imagePath(
      name,
      'Path in the registry. With `global.image.namePrefixOverride` only its last component ' +
        'counts.',
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

const DISK = 'Of the disk of its node, for logs and scratch files;'

/** Limits and requests of a container. */
export const resources = (limits: Amounts, requests: Amounts) =>
  group('Compute resources of each pod.', {
    limits: group('The most that a pod may use.', {
      cpu: optionalQuantity(limits.cpu, 'CPU limit.'),
      memory: optionalQuantity(limits.memory, 'Memory limit.'),
      'ephemeral-storage': optionalQuantity(null, `${DISK} such as 1Gi.`),
    }),
    requests: group('What a node must have free for a pod.', {
      cpu: optionalQuantity(requests.cpu, 'CPU request.'),
      memory: optionalQuantity(requests.memory, 'Memory request.'),
      'ephemeral-storage': optionalQuantity(null, `${DISK} such as 256Mi.`),
    }),
  })

/** The pods of a component: where they may run, and what is written on them. */
export const pods = {
  nodeSelector: map('Node labels for pod placement.', {
    key: LABEL_KEY,
    value: LABEL_VALUE,
    example: { 'kubernetes.io/arch': 'amd64' },
  }),
  tolerations,
  affinity,
  priorityClassName: objectName('Priority class of the pods.'),
  podLabels: map('More labels of the pods.', {
    key: FOREIGN_KEY,
    value: LABEL_VALUE,
    example: { team: 'automation' },
  }),
  podAnnotations: map('More annotations of the pods.', {
    key: FOREIGN_KEY,
    value: ANY_TEXT,
    example: { 'example.com/owner': 'team automation' },
  }),
}

/** Mounts of the operator's own files in the containers of our programs. */
export const mounts = (what: string, example: { name: string; mountPath: string }) =>
  list(
    `${what} to mount into web, worker and oauth, such as certificates: each key becomes a file.`,
    {
      name: string('', `Name of the ${what.replace(/s$/, '')}.`, OBJECT_NAME),
      mountPath: string('', 'Directory in the container; one of its own for each.', {
        pattern: /^(\/[A-Za-z0-9._-]+)+$/,
        except: /\/\.{1,2}(\/|$)/,
        expected: 'an absolute path',
      }),
    },
    { required: ['name', 'mountPath'], example: [example] },
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

/** A host name that users reach. */
export const HOST = {
  pattern: new RegExp(`^(\\*\\.)?${DOMAIN}$`),
  except: /^.{254}|^([0-9]+\.){3}[0-9]+$/,
}

/** A host name that users reach, or nothing. */
export const hostname = (doc: string): StringField =>
  string('', doc, {
    pattern: new RegExp(`^((\\*\\.)?${DOMAIN})?$`),
    except: HOST.except,
    expected: 'a host name such as "platform.example.com" or "*.example.com", or ""',
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
export const annotations = (doc: string, example: Readonly<Record<string, string>>) =>
  map(doc, { key: LABEL_KEY, value: ANY_TEXT, example })

/** Labels of Kubernetes objects, beside those that the chart sets. */
export const labels = (doc: string, example: Readonly<Record<string, string>>) =>
  map(doc, { key: FOREIGN_KEY, value: LABEL_VALUE, example })

/** Days, by organization. */
export const daysByOrganization = (doc: string) =>
  map(doc, {
    key: {
      pattern: /^[ -~]{0,64}$/,
      expected: 'the id of an organization, or ""',
    },
    value: {
      pattern: /^[1-9][0-9]{0,4}$/,
      expected: 'days as a string of digits, such as "30"',
    },
    example: { '7': '30' },
  })

/** Environment variables. */
export const variables = (doc: string, example: Readonly<Record<string, string>>) =>
  map(doc, {
    key: { pattern: /^[A-Za-z_][A-Za-z0-9_]{0,252}$/, expected: 'a variable name' },
    value: ANY_TEXT,
    example,
  })

/** A secret text that the chart generates when it is empty. */
export const secret = (doc: string): StringField =>
  formerSecret(`${doc} Empty means generated on first install and kept.`)

/** A secret text of any length, which the chart generates when it is empty. */
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

/** The encryption of connections to an external PostgreSQL. */
export const sslMode = (doc: string) => word(['disable', 'require', 'verify-full'], 'require', doc)

/** The name of a PostgreSQL database. */
export const databaseName = (value: string, doc: string): StringField =>
  string(value, doc, {
    pattern: /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/,
    expected: 'a PostgreSQL database name of up to 63 letters, digits, - and _',
  })

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const IPV4_RANGE = `(${OCTET}\\.){3}${OCTET}/(3[0-2]|[12]?[0-9])`
const IPV6_RANGE = '(::|([0-9a-f]{1,4}:){1,6}:)/(12[0-8]|1[01][0-9]|[1-9]?[0-9])'
const ANY_RANGE = `(${IPV4_RANGE}|${IPV6_RANGE})`

/** A range of addresses. */
export const RANGE = {
  pattern: new RegExp(`^${ANY_RANGE}$`),
  expected: 'a range such as "203.0.113.0/24" or "2001:db8::/32"',
}

/** Ranges of addresses, for a variable. */
export const ranges = (doc: string): StringField =>
  string('', doc, {
    pattern: new RegExp(`^(${ANY_RANGE}(,${ANY_RANGE})*)?$`),
    expected: 'ranges such as "10.20.0.0/16", with commas between, or ""',
  })
