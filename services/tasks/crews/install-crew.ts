import { setFlag } from '../../platform/feature-flags.ts'
import { findCrewNamespace } from '../../platform/crews/crew-namespace.ts'
import { markDown, markOnline } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { ensureInternalCrew } from '../../platform/crews/internal-crews.ts'
import {
  INTERNAL_CREWS,
  INTERNAL_DEFINITIONS,
} from '../../platform/definitions/internal-crew-definitions.ts'
import type { InternalSlug } from '../../platform/definitions/internal-crew-definitions.ts'
import { crewToken } from '../../shared/crew-token.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { proxyVariables } from '../../shared/outgoing/forward-proxy.ts'
import { apply, remove } from '../../shared/kubernetes/apply.ts'
import type { Kubernetes } from '../../shared/kubernetes/client.ts'
import { crewNamespace } from '../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../shared/kubernetes/objects.ts'
import { SCALED_TO_ZERO } from '../../shared/kubernetes/pod-trouble.ts'
import { followRollout } from '../../shared/kubernetes/rollout.ts'
import type { Patience, Rollout } from '../../shared/kubernetes/rollout.ts'
import type { Log } from '../../shared/log.ts'
import type { ClusterCrewConfig } from '../env.ts'
import { crewObjects, crewSelector, crewUrl, namespaceOf } from './crew-objects.ts'
import type { CrewObjects } from './crew-objects.ts'
import { readMountedFile } from '../../shared/kubernetes/mounted-files.ts'
import { NETWORK_POLICY, describeNamespace } from './namespace-objects.ts'
import type { NamespaceSetup } from './namespace-objects.ts'

/** A part of the designer: `agent` or `runner`. */
export type Part = keyof typeof INTERNAL_CREWS

/** The host of crews: a cluster, or a process that somebody else started. */
export type CrewHost = Cluster | { readonly url: string }

interface Cluster {
  readonly kubernetes: Kubernetes
  readonly config: ClusterCrewConfig
  readonly patience: Patience
}

/**
 * Installs the crews of one part of the designer (SPEC 2.3, 7) and follows them to `Crew is
 * Online`. Safe to run again: what is as it should be stays, also one that was online and that
 * somebody has scaled to zero since. Raises when a crew does not come up, with the reason that its
 * record has too.
 */
export async function installCrews(
  sql: Database,
  part: Part,
  { host, log }: { host: CrewHost; log: Log },
): Promise<void> {
  if ('config' in host) await followChart(sql, host.config, log)
  for (const slug of INTERNAL_CREWS[part].slugs) {
    const automation = await ensureInternalCrew(sql, slug)
    const facts = { crew: slug, deployment_id: automation.id, app_id: automation.appId }
    const url =
      'url' in host
        ? host.url
        : await installInCluster({ sql, slug, automation, log: log.child(facts) }, host)
    if (url === undefined) continue
    await markOnline(sql, automation.id, url)
    log.info({ ...facts, url }, 'Crew is Online')
    if ('kubernetes' in host) await leaveFormer({ automation, url, log: log.child(facts) }, host)
  }
}

/** With another namespace in its address, the crew is not where it was before. */
async function leaveFormer(
  { automation, url, log }: { automation: Automation; url: string; log: Log },
  { kubernetes }: Cluster,
): Promise<void> {
  const namespace = automation.url === null ? undefined : namespaceOf(automation.url)
  if (namespace === undefined || namespace === namespaceOf(url)) return
  await removeFormerCrew({ kubernetes, appId: automation.appId, namespace, log })
}

/** The chart decides on namespaces for each organization, because it grants the rights for them. */
async function followChart(sql: Database, config: ClusterCrewConfig, log: Log): Promise<void> {
  const enabled = config.CREW_NAMESPACE_ISOLATION
  if (enabled === undefined) return
  await setFlag(sql, { name: 'k8s_namespace_isolation', organizationId: null, enabled })
  log.info({ flag: 'k8s_namespace_isolation', enabled }, 'the flag follows the chart')
}

interface Installation {
  readonly sql: Database
  readonly slug: InternalSlug
  readonly automation: Automation
  readonly log: Log
}

/** Returns the address of a crew; none of one that somebody has scaled to zero. */
async function installInCluster(
  installation: Installation,
  host: Cluster,
): Promise<string | undefined> {
  const { sql, automation, log } = installation
  const { id, organizationId, appId, status } = automation
  const base = host.config.K8S_NAMESPACE
  const { namespace, isolated } = await findCrewNamespace(sql, base, organizationId)
  const location = { appId, namespace, isolated }
  const rollout = await orMarkFailed(installation, () => deploy(installation, host, location))
  if (rollout.online) return crewUrl(location)
  const { reason, isServing, trouble } = rollout
  const remedy = remedyFor(location, trouble?.reason)
  if (trouble?.reason === SCALED_TO_ZERO && status === 'Crew is Online') {
    log.warn({ namespace, reason }, `the crew takes no runs; ${remedy}`)
    return undefined
  }
  if (!isServing) await markDown(sql, id, { status: 'Crew has Failed', reason })
  const former = isServing ? ' The pods of the version before still answer.' : ''
  throw new AppError(
    'unavailable',
    `The crew ${appId} in namespace ${namespace} did not come up: ${reason}.${former} ` +
      `To correct it, ${remedy}; then run this again.`,
  )
}

const remedyFor = ({ appId, namespace }: CrewLocation, reason: string | undefined): string =>
  reason === SCALED_TO_ZERO
    ? `run \`kubectl -n ${namespace} scale deployment ${appId} --replicas=1\``
    : `look at \`kubectl -n ${namespace} describe pods -l app.kubernetes.io/instance=${appId}\` ` +
      'and fix the cause'

async function deploy(
  installation: Installation,
  host: Cluster,
  location: CrewLocation,
): Promise<Rollout> {
  const { log } = installation
  const { kubernetes, config, patience } = host
  const { appId, namespace } = location
  const common = await describeNamespace(config, namespace)
  const crew = await describeCrew(installation, config, { ...common, namespace })
  const { secret, service, deployment } = crew
  if (config.CREW_NETWORK_POLICY === false) {
    await remove(kubernetes, { kind: 'NetworkPolicy', name: NETWORK_POLICY, namespace })
  }
  await applyAll(host, [...common.objects, secret, service, deployment], location)
  log.info({ namespace }, 'its Secret, Service and Deployment are applied')
  return followRollout({
    kubernetes,
    patience,
    name: appId,
    namespace,
    labels: crewSelector(appId),
    onWait: async (reason) => {
      log.info({ namespace, reason }, 'Crew is Provisioning')
      await markWaiting(installation, reason)
    },
  })
}

async function describeCrew(
  { slug, automation }: Installation,
  config: ClusterCrewConfig,
  { namespace, imagePullSecret }: NamespaceSetup & { readonly namespace: string },
): Promise<CrewObjects> {
  const { CREW_CA_FILE, OPENAI_BASE_URL, OPENAI_API_KEY, SECRET_KEY_BASE } = config
  const modelOrigins = config.LLM_PRIVATE_ORIGINS.join(',')
  const toolOrigins = config.TOOL_PRIVATE_ORIGINS.join(',')
  return crewObjects({
    appId: automation.appId,
    namespace,
    image: config.CREW_IMAGE,
    home: config.POD_NAMESPACE,
    hasArbitraryUser: config.CREW_ARBITRARY_USER,
    imagePullSecret,
    env: {
      CREW_DEFINITION: JSON.stringify(INTERNAL_DEFINITIONS[slug]),
      LOG_LEVEL: config.LOG_LEVEL,
      ...(OPENAI_BASE_URL ? { OPENAI_BASE_URL } : {}),
      ...(modelOrigins ? { LLM_PRIVATE_ORIGINS: modelOrigins } : {}),
      ...(toolOrigins ? { TOOL_PRIVATE_ORIGINS: toolOrigins } : {}),
    },
    secretEnv: {
      CREW_TOKEN: crewToken(SECRET_KEY_BASE, automation.automationId),
      ...proxyVariables(config),
      ...(OPENAI_API_KEY ? { OPENAI_API_KEY } : {}),
    },
    caBundle: CREW_CA_FILE && (await readMountedFile('CREW_CA_FILE', CREW_CA_FILE)),
  })
}

interface CrewLocation {
  readonly appId: string
  readonly namespace: string
  /** The namespace is the organization's own; nobody may have made it yet. */
  readonly isolated: boolean
}

/**
 * The namespace of an organization is made when it turns out to be missing; any other must exist.
 */
async function applyAll(
  { kubernetes, config }: Cluster,
  objects: readonly KubernetesObject[],
  { namespace, isolated }: CrewLocation,
): Promise<void> {
  const applyEach = async (): Promise<void> => {
    for (const object of objects) {
      const { kind, metadata } = object
      await apply(kubernetes, { kind, name: metadata.name, namespace }, object)
    }
  }
  try {
    await applyEach()
  } catch (thrown) {
    const isMissing = thrown instanceof AppError && thrown.code === 'not_found'
    if (!isMissing || !isolated) throw thrown
    const own = crewNamespace(namespace, config.POD_NAMESPACE)
    await apply(kubernetes, { kind: 'Namespace', name: namespace }, own)
    await applyEach()
  }
}

/** A crew that was online before may well be so still: its record stays. */
async function orMarkFailed<Result>(
  { sql, automation }: Installation,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step()
  } catch (thrown) {
    if (thrown instanceof AppError && automation.status !== 'Crew is Online') {
      await markDown(sql, automation.id, { status: 'Crew has Failed', reason: thrown.message })
    }
    throw thrown
  }
}

async function markWaiting({ sql, automation }: Installation, reason: string): Promise<void> {
  if (automation.status === 'Crew is Online') return
  await markDown(sql, automation.id, { status: 'Crew is Provisioning', reason })
}

interface Former {
  readonly kubernetes: Kubernetes
  readonly appId: string
  /** The namespace that the crew left. */
  readonly namespace: string
  readonly log: Log
}

/**
 * Removes a crew from a namespace that it left; where that is not allowed, logs how to do it
 * and how.
 */
async function removeFormerCrew({ kubernetes, appId, namespace, log }: Former): Promise<void> {
  try {
    for (const kind of ['Deployment', 'Service', 'Secret'] as const) {
      await remove(kubernetes, { kind, name: appId, namespace })
    }
    log.info({ namespace }, 'the crew is gone from the namespace that it left')
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    const command = `kubectl -n ${namespace} delete deployment,service,secret ${appId}`
    log.warn({ namespace, reason: thrown.message }, `the crew left pods behind; run: ${command}`)
  }
}
