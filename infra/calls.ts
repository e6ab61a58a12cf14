import { releaseNamespace } from './kit/create.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { all, any, isSet, not, text } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import { values } from './values.ts'

const {
  backup,
  buildkit,
  collector,
  configuration,
  crews,
  httpRoute,
  ingress,
  internalRegistry,
  oauth,
  postgres,
} = values
const { web, worker } = values
const { tracesNamespace } = values.networkPolicy

interface Program {
  /** The condition under which it is deployed. @default always */
  readonly isDeployed?: Condition
  /** It runs to its end in a Job, instead of serving. */
  readonly isJob?: true
}

/** Documents are given, which a Job applies. */
export const isConfigured = any(
  isSet(configuration.resources),
  isSet(configuration.existingConfigMap),
)

/** The programs that call or are called, by the component label of their pods. */
export const programs = {
  web: {},
  worker: {},
  oauth: { isDeployed: oauth.enabled },
  collector: { isDeployed: collector.enabled },
  postgres: { isDeployed: postgres.enabled },
  buildkit: { isDeployed: buildkit.enabled },
  'internal-registry': { isDeployed: internalRegistry.enabled },
  setup: { isJob: true },
  configuration: { isDeployed: isConfigured, isJob: true },
  crews: { isDeployed: crews.install, isJob: true },
  backup: { isDeployed: backup.enabled, isJob: true },
  archive: { isDeployed: all(collector.enabled, collector.archive.enabled), isJob: true },
  bootstrap: { isJob: true },
  test: { isJob: true },
} as const satisfies Readonly<Record<string, Program>>

/** The component label of a program's pods. */
export type ProgramName = keyof typeof programs

/** The callers outside the release, in the words of the network table. */
export const outsiders = {
  visitors: 'everywhere, or `networkPolicy.ingressNamespace`, the crews and `helm test`',
  browsers: 'also from where web is reached, when oauth has a host in `ingress` or `httpRoute`',
  senders: 'traces from `networkPolicy.tracesNamespace`',
  'own-crews': 'the crews from source, wherever they run',
  builds: 'the Jobs that build images, beside the crews',
  nodes: 'the nodes, at addresses that no policy knows: its gate asks for credentials',
  monitoring: 'its metrics from `networkPolicy.monitoringNamespace`',
  scaler: 'the length of the queue from `networkPolicy.kedaNamespace`',
} as const

/** A caller outside the release. */
export type Outsider = keyof typeof outsiders

/**
 * The programs outside the release that are called, and where they run; they have their own policy.
 */
export const elsewhere = {
  'crew-pods': { name: 'crews', place: 'wherever the crews run' },
} as const

/** One program that calls another. Its answers are part of the call. */
export interface Call {
  readonly from: ProgramName | Outsider
  readonly to: ProgramName | keyof typeof elsewhere
  /** The name of the container's port. */
  readonly port: string
  readonly why: string
  /** The condition under which the call is made. @default while the caller is deployed */
  readonly isMade?: Condition
}

const isOauthExposed = any(
  all(ingress.enabled, isSet(ingress.oauthHost)),
  all(httpRoute.enabled, isSet(httpRoute.oauthHost)),
)

const areSendersNamed = isSet(tracesNamespace)
const isGrpcNamed = all(collector.grpc.enabled, areSendersNamed)

const isTraceDatabaseShared = all(collector.enabled, not(isSet(collector.database.host)))
const isArchiveShared = all(isTraceDatabaseShared, collector.archive.enabled)

/** The registry has credentials for each organization, and a gate that knows them. */
export const isRegistryGated = all(
  internalRegistry.enabled,
  crews.fromSource,
  not(isSet(internalRegistry.htpasswdSecret)),
)

/** KEDA asks the workers how many of them are needed. */
export const scalesByQueue = all(worker.autoscaling.enabled, worker.autoscaling.keda.enabled)

/**
 * Every call to a program of the platform. The addresses that callers get, the NetworkPolicies and
 * the network table of the chart's README all come from here: a call that is not declared has no
 * address, and the policies refuse it.
 */
export const calls = [
  { from: 'visitors', to: 'web', port: 'http', why: 'pages, the automation API, tools of crews' },
  { from: 'buildkit', to: 'web', port: 'http', why: 'tools of crews' },
  { from: 'configuration', to: 'web', port: 'http', why: 'settings as documents' },
  { from: 'monitoring', to: 'web', port: 'metrics', why: 'metrics' },

  { from: 'web', to: 'oauth', port: 'http', why: 'connections to third-party providers' },
  { from: 'worker', to: 'oauth', port: 'http', why: 'tokens for the tools of runs' },
  { from: 'browsers', to: 'oauth', port: 'http', why: 'consent', isMade: isOauthExposed },
  { from: 'monitoring', to: 'oauth', port: 'metrics', why: 'metrics' },

  { from: 'web', to: 'collector', port: 'http', why: 'the spans of calls, and its health' },
  { from: 'worker', to: 'collector', port: 'http', why: 'the spans of runs' },
  { from: 'senders', to: 'collector', port: 'http', why: 'their spans', isMade: areSendersNamed },
  { from: 'senders', to: 'collector', port: 'grpc', why: 'their spans', isMade: isGrpcNamed },
  {
    from: 'own-crews',
    to: 'collector',
    port: 'http',
    why: 'spans of their programs',
    isMade: crews.fromSource,
  },
  { from: 'monitoring', to: 'collector', port: 'metrics', why: 'metrics' },

  { from: 'monitoring', to: 'worker', port: 'http', why: 'metrics' },
  {
    from: 'scaler',
    to: 'worker',
    port: 'http',
    why: 'the length of the queue',
    isMade: scalesByQueue,
  },

  { from: 'web', to: 'postgres', port: 'postgres', why: 'the main database' },
  { from: 'worker', to: 'postgres', port: 'postgres', why: 'the queue of runs' },
  { from: 'setup', to: 'postgres', port: 'postgres', why: 'what every installation has' },
  { from: 'configuration', to: 'postgres', port: 'postgres', why: 'a token for itself' },
  { from: 'crews', to: 'postgres', port: 'postgres', why: "the platform's own crews" },
  { from: 'bootstrap', to: 'postgres', port: 'postgres', why: 'which keys it is sealed with' },
  { from: 'backup', to: 'postgres', port: 'postgres', why: 'copies of both databases' },
  { from: 'oauth', to: 'postgres', port: 'postgres', why: 'encrypted tokens' },
  {
    from: 'collector',
    to: 'postgres',
    port: 'postgres',
    why: 'the trace database',
    isMade: isTraceDatabaseShared,
  },
  {
    from: 'archive',
    to: 'postgres',
    port: 'postgres',
    why: 'days of traces that become files',
    isMade: isArchiveShared,
  },

  {
    from: 'builds',
    to: 'buildkit',
    port: 'grpc',
    why: 'images of crews from source',
    isMade: crews.fromSource,
  },

  {
    from: 'worker',
    to: 'buildkit',
    port: 'grpc',
    why: 'whether it answers, for the diagnostic report',
    isMade: crews.fromSource,
  },
  { from: 'worker', to: 'internal-registry', port: 'http', why: 'images of crews' },
  { from: 'buildkit', to: 'internal-registry', port: 'http', why: 'pushes of built images' },
  {
    from: 'nodes',
    to: 'internal-registry',
    port: 'http',
    why: 'pulls of crew images',
    isMade: isRegistryGated,
  },

  { from: 'worker', to: 'crew-pods', port: 'http', why: 'kickoffs of runs' },
  { from: 'web', to: 'crew-pods', port: 'http', why: 'the status of crews' },
] as const satisfies readonly Call[]

/**
 * Programs that may call any address: identity providers, models, registries and the Kubernetes
 * API are at addresses that no chart knows. All others reach only the programs that they call.
 */
export const unrestricted: readonly ProgramName[] = [
  'web',
  'worker',
  'backup',
  'archive',
  'bootstrap',
  'crews',
  'test',
  'oauth',
]

const addresses = {
  web: text`http://${nameOf('web')}:${web.servicePort}`,
  buildkit: text`tcp://${nameOf('buildkit')}.${releaseNamespace}:${buildkit.port}`,
  oauth: text`http://${nameOf('oauth')}:${oauth.port}`,
  collector: text`http://${nameOf('collector')}:${collector.port}`,
  postgres: nameOf('postgres'),
  'internal-registry': text`${nameOf('internal-registry')}:${internalRegistry.port}`,
}

type Declared = (typeof calls)[number]
type Edge<C> = C extends { readonly from: infer From; readonly to: keyof typeof addresses }
  ? { readonly from: From; readonly to: C['to'] }
  : never

/** The programs that call one of the platform's. */
export type CallerOf<To extends ProgramName> = Extract<Declared, { to: To }>['from']

/** The address of a program inside the cluster, for a caller whose call is declared. */
export const addressOf = ({ to }: Edge<Declared>): Val<string> => addresses[to]

/** The address of web for programs of any namespace. */
export const webInCluster = text`http://${nameOf('web')}.${releaseNamespace}:${web.servicePort}`

const collectorHost = text`${nameOf('collector')}.${releaseNamespace}`
const workerHost = text`${nameOf('worker')}.${releaseNamespace}`
/** Where a worker says how many runs there are for workers, for programs of any namespace. */
export const queueInCluster = text`http://${workerHost}:${worker.port}/queue`

/** The address of the collector for programs of any namespace. */
export const collectorInCluster = text`http://${collectorHost}:${collector.port}`

/** The declared calls to one program. */
export const callsTo = (to: Call['to']): readonly Call[] => calls.filter((call) => call.to === to)

/** Tells a program of the release from a caller outside it. */
export const isProgram = (name: string): name is ProgramName => name in programs

/** The programs of the release, in order. */
export const programNames = Object.keys(programs).filter(isProgram)

/** The condition under which a program is deployed; undefined for those that always are. */
export const deploymentOf = (name: ProgramName): Condition | undefined => {
  const program: Program = programs[name]
  return program.isDeployed
}
