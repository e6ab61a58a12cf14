import { isMore } from '../../../infra/template/quantity.ts'
import type { Values } from '../../../infra/values.ts'

/** Bends random values so far that they break no rule between values. */
export function sensible(
  random: Record<string, unknown>,
  chosen: { readonly postgres?: boolean; readonly anyName?: boolean } = {},
): Record<string, unknown> {
  const values = structuredClone(random) as unknown as Mutable<Values>
  values.postgres.enabled = chosen.postgres ?? values.postgres.enabled
  if (values.global.caBundle.secret) values.global.caBundle.configMap = ''
  if (values.global.openshift) values.buildkit.enabled = false
  if (!chosen.anyName) values.fullnameOverride = values.nameOverride = ''
  if (values.podMonitor.enabled) values.serviceMonitor.enabled = false
  chooseSecrets(values)
  completeDatabase(values)
  separatePorts(values)
  completeWays(values)
  completeSignIn(values)
  completeBackup(values)
  completeArchive(values)
  // Versions below 1.12 send no traces.
  if (/^v?[01][.]/.test(values.image.tag)) values.image.tag = `at-${values.image.tag}`
  const components = RESOURCEFUL.map((component) => values[component])
  for (const { resources } of [...components, values.collector.archive]) {
    boundRequests(resources)
  }
  completeScaling(values)
  values.extraSecretMounts = distinctMounts(values.extraSecretMounts)
  values.extraConfigMapMounts = distinctMounts(values.extraConfigMapMounts, '/config')
  for (const component of WORKLOADS) {
    mountWhatIsThere(additionsOf(values[component]))
    pauseInTime(pausesOf(values[component]))
  }
  return values as unknown as Record<string, unknown>
}

const WORKLOADS = [
  'web',
  'worker',
  'oauth',
  'collector',
  'postgres',
  'buildkit',
  'internalRegistry',
] as const

type Named = readonly { readonly name?: unknown }[]

interface Additions {
  extraInitContainers: Named
  readonly extraContainers: Named
  readonly extraVolumes: Named
  extraVolumeMounts: Named
  dnsPolicy: string
  readonly dnsConfig: object
}

// Their whole type is too deep for the compiler.
const additionsOf = (component: unknown) => component as Additions

interface Pauses {
  readonly drainSeconds?: number
  readonly terminationGracePeriodSeconds?: number
  readonly lifecycle?: Readonly<Record<string, { readonly sleep?: { seconds: number } }>>
}

const pausesOf = (component: unknown) => component as Pauses

/** No pause is longer than the time to end. */
function pauseInTime({
  drainSeconds = 0,
  terminationGracePeriodSeconds = drainSeconds + 30,
  lifecycle = {},
}: Pauses): void {
  for (const { sleep } of Object.values(lifecycle)) {
    if (sleep) sleep.seconds = Math.min(sleep.seconds, terminationGracePeriodSeconds)
  }
}

/** Mounts of volumes that there are, and no container before that is beside as well. */
function mountWhatIsThere(given: Additions): void {
  const volumes = given.extraVolumes.map(({ name }) => name)
  given.extraVolumeMounts = given.extraVolumeMounts.flatMap((mount, index) => {
    const name = volumes[index]
    return name === undefined ? [] : [{ ...mount, name, mountPath: `/mnt/${index}` }]
  })
  const beside = new Set(given.extraContainers.map(({ name }) => name))
  given.extraInitContainers = given.extraInitContainers.filter(({ name }) => !beside.has(name))
  if (given.dnsPolicy === 'None' && Object.keys(given.dnsConfig).length === 0) given.dnsPolicy = ''
}

function completeScaling({ web, worker, oauth, collector }: Mutable<Values>): void {
  for (const { autoscaling, resources } of [web, worker, oauth, collector]) {
    autoscaling.maxReplicas = Math.max(autoscaling.minReplicas, autoscaling.maxReplicas)
    autoscaling.targetCPUUtilizationPercentage ||= 1
    if (autoscaling.enabled) resources.requests.cpu = '1m'
    if (resources.limits.memory === null) resources.requests.memory ??= '1Mi'
  }
  collector.autoscaling.keda.prometheusUrl ||= 'http://prometheus.monitoring:9090'
  for (const { autoscaling } of [worker, collector])
    autoscaling.keda.enabled &&= autoscaling.enabled
}

/** A secret value is given, or in a Secret that is named, or neither. */
function chooseSecrets({ secrets, secretKeyRefs }: Mutable<Values>): void {
  for (const [key, reference] of Object.entries(secretKeyRefs)) {
    if (reference.name === '') reference.key = key
    else Object.assign(secrets, { [key]: '' })
  }
}

function separatePorts({ collector, dbProxy, envVars, oauth, web, worker }: Mutable<Values>): void {
  const ports = new Set<number>()
  for (const [holder, key] of [
    [collector, 'port'],
    [collector, 'metricsPort'],
    [collector.grpc, 'port'],
    [envVars, 'DB_PORT'],
    [dbProxy, 'healthPort'],
    [web, 'port'],
    [web, 'metricsPort'],
    [worker, 'port'],
    [oauth, 'port'],
    [oauth, 'metricsPort'],
  ] as readonly (readonly [Record<string, unknown>, string])[]) {
    let port = Math.max(dbProxy.enabled ? 1024 : 1, Number(holder[key]))
    while (ports.has(port)) port = Math.max(1024, (port % 65_535) + 1)
    ports.add(port)
    holder[key] = port
  }
}

function completeDatabase({
  collector,
  postgres,
  dbProxy,
  envVars,
  secrets,
  secretKeyRefs,
}: Mutable<Values>): void {
  if (postgres.enabled) dbProxy.enabled = false
  if (!dbProxy.enabled) dbProxy.autoIamAuthn = false
  if (dbProxy.enabled) collector.database.host = ''
  collector.database.passwordSecret ||= 'traces'
  dbProxy.instanceConnectionName ||= 'project:region:instance'
  envVars.DB_HOST ||= 'db.example.com'
  if (!secrets.existingSecret && !secretKeyRefs.DB_PASSWORD.name)
    secrets.DB_PASSWORD ||= 'a password'
  if (postgres.collectorDatabase === envVars.DB_NAME)
    postgres.collectorDatabase = `${envVars.DB_NAME.slice(0, 50)}_traces`
}

function completeBackup({ backup, upgrade }: Mutable<Values>): void {
  upgrade.proofKey ||= `302a300506032b6570032100${'0f'.repeat(32)}`
  backup.passphraseSecret ||= 'passphrase'
  backup.s3.endpoint ||= 'https://s3.example.com'
  backup.s3.credentialsSecret ||= 'bucket'
}

function completeArchive({ backup, collector: { archive, citus } }: Mutable<Values>): void {
  if (citus.distribute) archive.enabled = false
  if (backup.s3.bucket === '') archive.existingClaim ||= 'archive'
  if (archive.hotDays >= archive.coldDays) archive.hotDays = archive.coldDays - 1
}

function completeWays({ ingress, httpRoute }: Mutable<Values>): void {
  for (const way of [ingress, httpRoute]) {
    if (way.host === '') way.extraHosts = []
    if (way.oauthHost !== '' && way.oauthHost === way.host)
      way.oauthHost = `oauth.${way.host.replace('*.', '')}`
  }
  httpRoute.gateway ||= 'gateway'
}

function completeSignIn({ auth, secrets, secretKeyRefs }: Mutable<Values>): void {
  if (auth.provider === 'local') auth.passwords = 'on'
  auth.issuerUrl ||= 'https://idp.example.com'
  auth.clientId ||= 'platform'
  if (auth.adminClaim === '') auth.adminValue = ''
  else auth.adminValue ||= 'admins'
  if (auth.groupsClaim === '') auth.groups = ''
  else auth.groups ||= 'crews -> Acme: editor'
  if (!secrets.existingSecret && !secretKeyRefs.OIDC_CLIENT_SECRET.name)
    secrets.OIDC_CLIENT_SECRET ||= 'a-secret'
}

const RESOURCEFUL = [
  'web',
  'worker',
  'oauth',
  'collector',
  'postgres',
  'dbProxy',
  'buildkit',
  'internalRegistry',
  'backup',
] as const

type Amounts = Record<string, string | null>

/** No request above its limit; now and then one of them is removed. */
function boundRequests({ limits, requests }: { limits: Amounts; requests: Amounts }): void {
  for (const name of Object.keys(limits)) {
    const [limit = null, request = null] = [limits[name], requests[name]]
    if (isMore(request, limit)) [limits[name], requests[name]] = [request, limit]
    if (name === 'ephemeral-storage') continue
    if (limit === '0.5') limits[name] = null
    if (request === '250m') requests[name] = null
  }
}

/** Each in a place of its own. */
const distinctMounts = <T extends { name: string; mountPath: string }>(
  mounts: readonly T[],
  below = '/secret',
) => mounts.map((mount, index) => ({ ...mount, mountPath: `${below}/${index}${mount.mountPath}` }))

type Mutable<T> = T extends string | number | boolean
  ? T
  : { -readonly [K in keyof T]: Mutable<T[K]> }
