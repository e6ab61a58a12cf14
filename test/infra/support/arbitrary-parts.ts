import fc from 'fast-check'
import { definitionOfType } from '../../../infra/template/free.ts'
import type { FreeField, FreeListField } from '../../../infra/template/schema.ts'
import { linesOfParts } from './arbitrary-texts.ts'

// Parts of Kubernetes' objects as an operator may give them: random, yet such that an API server
// takes them and that Pod Security "restricted" lets them pass.

/** Texts that YAML could read as something else, or could not print. */
const text = fc.oneof(
  fc.constantFrom('yes', '0123', '1e3', '-.5', '.inf', '~', '', 'a: b', '# c', '{{ .Values.x }}'),
  fc.constantFrom(
    'two\nlines',
    'ends\n',
    ' lead',
    'trail ',
    'q"uote',
    "it's",
    '\ttab',
    '- a',
    '%s',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 12 }).filter((given) => !given.endsWith('\n\n')),
  linesOfParts,
)

const id = fc.integer({ min: 0, max: 0xff_ffff }).map((number) => number.toString(16))
const name = (prefix: string): fc.Arbitrary<string> => id.map((rest) => `${prefix}-${rest}`)
const amount = fc.constantFrom<string | number>('1', '250m', '64Mi', 0.5, 1, 1_073_741_824)

const variable = fc.oneof(
  fc.record({ name: name('V').map((key) => key.replace('-', '_')), value: text }),
  fc.record({
    name: name('F').map((key) => key.replace('-', '_')),
    valueFrom: fc.constantFrom(
      { secretKeyRef: { name: 'mine', key: 'a.b', optional: true } },
      { configMapKeyRef: { name: 'mine', key: 'yes' } },
      { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } },
      ...['limits.cpu', 'requests.cpu'].flatMap((resource) =>
        ['1m', '1', 1, '0'].map((divisor) => ({ resourceFieldRef: { resource, divisor } })),
      ),
      ...['limits.memory', 'requests.memory', 'limits.ephemeral-storage'].flatMap((resource) =>
        ['1Mi', '1k', '1', 1, '0', '1E', '1Ei'].map((divisor) => ({
          resourceFieldRef: { resource, divisor },
        })),
      ),
      { resourceFieldRef: { resource: 'limits.memory' } },
    ),
  }),
)

const containerSecurity = fc.record({
  runAsUser: fc.integer({ min: 1, max: 100_000 }),
  runAsNonRoot: fc.constant(true),
  allowPrivilegeEscalation: fc.constant(false),
  readOnlyRootFilesystem: fc.constant(true),
  capabilities: fc.constant({ drop: ['ALL'] }),
  seccompProfile: fc.constant({ type: 'RuntimeDefault' }),
})

const container = fc
  .record(
    {
      name: name('x'),
      image: fc.constantFrom('registry.example.com/a:1', 'b'),
      command: fc.array(
        text.filter((part) => part !== ''),
        { maxLength: 2 },
      ),
      env: fc.uniqueArray(variable, { maxLength: 2, selector: (one) => one.name }),
      resources: fc.record({ requests: fc.record({ cpu: amount, memory: amount }) }),
      securityContext: containerSecurity,
    },
    { requiredKeys: ['name', 'image', 'securityContext'] },
  )
  .map(({ command = [], env = [], ...rest }) => ({
    ...rest,
    ...(command.length > 0 ? { command } : {}),
    ...(env.length > 0 ? { env } : {}),
  }))

const probe = fc.constantFrom(
  { exec: { command: ['true'] } },
  { httpGet: { path: '/', port: 8080 }, timeoutSeconds: 2 },
  { tcpSocket: { port: 8081 }, periodSeconds: 3 },
)
const moments = fc.constantFrom(
  { preStop: { exec: { command: ['true'] } } },
  { postStart: { httpGet: { path: '/start', port: 8080 } } },
)

/** What a container has that stays. */
const life = fc.record(
  { startupProbe: probe, livenessProbe: probe, readinessProbe: probe, lifecycle: moments },
  { requiredKeys: [] },
)

const stays = fc.tuple(container, life).map(([of, while_]) => ({ ...of, ...while_ }))

const volume = fc.oneof(
  fc.record({ name: name('v'), emptyDir: fc.record({ sizeLimit: amount }) }),
  fc.record({ name: name('v'), secret: fc.constant({ secretName: 'mine', defaultMode: 288 }) }),
  fc.record({
    name: name('v'),
    projected: fc.constant({
      sources: [
        { downwardAPI: { items: [{ path: 'yes', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        { serviceAccountToken: { path: 'token', audience: 'vault' } },
      ],
    }),
  }),
)

const label = fc.constantFrom('yes', '1', 'a.b', '')

/** Each type that values have, by its name in the API. */
const PARTS: Readonly<Record<string, fc.Arbitrary<object>>> = {
  EnvVar: variable,
  EnvFromSource: fc.oneof(
    fc.record({ secretRef: fc.record({ name: name('s'), optional: fc.boolean() }) }),
    fc.record({ prefix: fc.constant('P_'), secretRef: fc.constant({ name: 'mine' }) }),
  ),
  Volume: volume,
  VolumeMount: fc.record({ name: name('v'), mountPath: name('/m'), readOnly: fc.boolean() }),
  Container: stays,
  InitContainer: fc.oneof(
    container,
    stays.map((one) => ({ ...one, restartPolicy: 'Always' })),
  ),
  PodSecurityContext: fc.record(
    {
      runAsUser: fc.integer({ min: 1, max: 100_000 }),
      runAsNonRoot: fc.constant(true),
      seccompProfile: fc.constant({ type: 'RuntimeDefault' }),
      supplementalGroups: fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1 }),
    },
    { requiredKeys: ['runAsNonRoot', 'seccompProfile'] },
  ),
  SecurityContext: containerSecurity,
  HostAlias: fc.constant({ ip: '10.0.0.20', hostnames: ['models.example.com'] }),
  PodDNSConfig: fc.record({
    nameservers: fc.constant(['10.0.0.10']),
    options: fc.constant([{ name: 'ndots', value: '2' }, { name: 'edns0' }]),
  }),
  Lifecycle: fc.oneof(
    fc.record({ preStop: fc.record({ exec: fc.record({ command: fc.tuple(text) }) }) }),
    fc.constant({ preStop: { httpGet: { path: '/stop', port: 'http' } } }),
    fc.constant({ preStop: { httpGet: { path: '/stop', port: 8080 } } }),
    fc.integer({ min: 1, max: 90 }).map((seconds) => ({ preStop: { sleep: { seconds } } })),
    fc.integer({ min: 1, max: 90 }).map((seconds) => ({ postStart: { sleep: { seconds } } })),
  ),
  DeploymentStrategy: fc.constantFrom(
    { type: 'Recreate' },
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
  ),
  TopologySpreadConstraint: fc
    .record(
      {
        maxSkew: fc.integer({ min: 1, max: 9 }),
        topologyKey: name('zone'),
        whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'ScheduleAnyway'),
        labelSelector: fc.record({ matchLabels: fc.record({ a: label }) }),
        matchLabelKeys: fc.constantFrom([], ['pod-template-hash']),
      },
      { requiredKeys: ['maxSkew', 'topologyKey', 'whenUnsatisfiable'] },
    )
    .map(({ matchLabelKeys, ...rest }) =>
      rest.labelSelector && matchLabelKeys ? { ...rest, matchLabelKeys } : rest,
    ),
  IngressTLS: fc.record({ secretName: name('tls'), hosts: fc.constant(['x.example.com']) }),
  ResourceDocument: fc.record({
    kind: fc.constantFrom('webhook', 'llm_connection'),
    name: name('row'),
    spec: fc.dictionary(name('k'), fc.oneof(text, fc.constantFrom(1, 0.5, true, [], {}, [{}])), {
      maxKeys: 3,
    }),
  }),
  object: fc.record({
    apiVersion: fc.constant('v1'),
    kind: fc.constant('ConfigMap'),
    metadata: fc.record({ name: name('mine'), namespace: fc.constant('prod') }),
    data: fc.dictionary(name('k'), text, { maxKeys: 3 }),
  }),
}

const known = new Map<string, fc.Arbitrary<readonly object[]>>()

/** Fifty lists of each type, made once: making them costs more than using them. */
function listsOf(type: string): fc.Arbitrary<readonly object[]> {
  const part = PARTS[type]
  if (!part) throw new Error(`no random ${type}`)
  const lists =
    known.get(type) ??
    fc.constantFrom(
      ...fc.sample(
        fc.uniqueArray(part, { maxLength: 2, comparator: (a, b) => keyOf(a) === keyOf(b) }),
        { numRuns: 50, seed: 1 },
      ),
    )
  known.set(type, lists)
  return lists
}

/** What makes an element of a list another one. */
const keyOf = (part: object): unknown =>
  'name' in part ? part.name : 'topologyKey' in part ? part.topologyKey : JSON.stringify(part)

/** What an operator may give for a free field. */
export function arbitraryPart(field: FreeField | FreeListField): fc.Arbitrary<unknown> {
  // Most are empty, as most things are left to the chart: full ones take long to read.
  const lists = fc.oneof(
    { arbitrary: fc.constant<readonly object[]>([]), weight: 4 },
    { arbitrary: listsOf(definitionOfType(field)), weight: 1 },
  )
  return field.kind === 'freeList' ? lists : lists.map(([first = {}]) => first)
}
