import type * as v from 'valibot'
import { findCrewNamespace } from '../../../platform/crew-namespace.ts'
import { listConnectionsForModels } from '../../../platform/llm-connections.ts'
import { originsOf, usageOf } from '../../../platform/llm-usage.ts'
import { requireStorage } from '../../../platform/crew-storage.ts'
import type { ReadVariable } from '../../../platform/llm-usage.ts'
import { deadline } from '../../../shared/deadline.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import { proxyVariables } from '../../../shared/outgoing/forward-proxy.ts'
import type { proxyEnv } from '../../../shared/outgoing/forward-proxy.ts'
import { createResolveName } from '../../../shared/outgoing/resolve-name.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { linkEndMs, sourceLink } from '../../../shared/source-link.ts'
import type { workerEnv } from '../../env.ts'
import type { CrewHost, WantedCrew } from '../crew-host.ts'
import type { CrewCluster } from './cluster-settings.ts'
import { openBuilder } from './open-builder.ts'
import { DRAIN_SECONDS } from './crew-deployment.ts'
import type { LookUp } from './crew-network.ts'
import type { CrewGifts } from './describe-crew.ts'
import type { clusterCrewsEnv } from './env.ts'
import { createKubernetesHost } from './kubernetes-host.ts'

/** A registry may be unavailable for a moment. */
const PATIENCE = { stuckMs: 60_000, pollMs: 2000 }
const LOOK_UP_MS = 5000

type ClusterConfig = Pick<
  v.InferOutput<typeof workerEnv>,
  keyof typeof clusterCrewsEnv | keyof typeof proxyEnv | 'CREW_STORAGE_MAX'
>

/** What crews in a cluster are given, and what they are described with. */
export interface HostOptions {
  readonly kubernetes: Kubernetes
  readonly sql: Queryable
  readonly read: ReadVariable
  readonly secretKeyBase: string
  /** Returns the environment of a crew. */
  readonly environmentOf: (
    wanted: WantedCrew,
    drainSeconds: number,
  ) => Promise<Readonly<Record<string, string>>>
  /** Returns a token that reads an organization's tools until then. */
  readonly toolsTokenOf: (organizationId: number, expiresAtMs: number) => string
}

/**
 * Opens the host of crews in a cluster; undefined where the operator turned crews from source off.
 * Raises `invalid_configuration` when a variable is missing that goes with the others.
 */
export function openKubernetesHost(
  config: ClusterConfig,
  options: HostOptions,
): CrewHost | undefined {
  const { CREW_PYTHON_IMAGE: pythonImage, K8S_NAMESPACE, CREW_WEB_URL } = config
  if (pythonImage === undefined) return undefined
  const { POD_NAMESPACE: namespace, RELEASE_NAME: release } = config
  if (!K8S_NAMESPACE || !CREW_WEB_URL || !namespace || !release) {
    throw new AppError(
      'invalid_configuration',
      'CREW_PYTHON_IMAGE is set: crews from source also need K8S_NAMESPACE, POD_NAMESPACE, ' +
        'RELEASE_NAME and CREW_WEB_URL. Set them, or none.',
    )
  }
  const { kubernetes, sql } = options
  const cluster: CrewCluster = {
    home: { namespace, release },
    pythonImage,
    pullPolicy: config.CREW_PULL_POLICY,
    pullSecrets: config.CREW_PULL_CREDENTIALS,
    hasArbitraryUser: config.CREW_ARBITRARY_USER,
    isGuarded: config.CREW_NETWORK_POLICY,
    hasPrivateRanges: config.CREW_PRIVATE_RANGES,
    openNamespaces: config.CREW_OPEN_NAMESPACES,
    webUrl: CREW_WEB_URL.replace(/\/$/, ''),
    maxima: { cpu: config.CREW_CPU_MAX, memory: config.CREW_MEMORY_MAX },
    proxy: proxyVariables(config),
    builder: openBuilder(config, kubernetes),
  }
  return createKubernetesHost({
    kubernetes,
    cluster,
    gifts: createGifts(cluster, { ...options, quotaBytes: config.CREW_STORAGE_MAX }),
    placeOf: (organizationId) => findCrewNamespace(sql, K8S_NAMESPACE, organizationId),
    patience: PATIENCE,
  })
}

interface GiftOptions extends HostOptions {
  readonly quotaBytes: number
}

function createGifts(
  { webUrl, proxy }: CrewCluster,
  { sql, read, secretKeyBase, environmentOf, toolsTokenOf, quotaBytes }: GiftOptions,
): CrewGifts {
  return {
    environmentOf: async (wanted) => ({
      ...proxy,
      ...(await environmentOf(wanted, DRAIN_SECONDS)),
    }),
    sourceUrlOf: ({ source }) => webUrl + sourceLink(secretKeyBase, source.id),
    indexesOf({ owner, source }) {
      const url = new URL(`${webUrl}/tools/organization/simple/`)
      url.username = '__token__'
      url.password = toolsTokenOf(owner.organizationId, linkEndMs(source.id))
      return `platform=${url.href}`
    },
    async modelHostsOf(organizationId) {
      const connections = await listConnectionsForModels(sql, organizationId, 'all')
      const urls = connections.map((each) => {
        const connection = { ...each, hasKey: each.sealedKey !== null }
        return usageOf(connection, read).chatUrl
      })
      const proxies = [proxy['HTTP_PROXY'], proxy['HTTPS_PROXY']]
      return [...urls, ...originsOf(read), ...proxies].flatMap((url) =>
        url ? [new URL(url).hostname] : [],
      )
    },
    lookUp: createLookUp(),
    requireRoom: (organizationId) => requireStorage(sql, { organizationId, quotaBytes }, 0),
  }
}

/** A name server that is silent costs the addresses of that host alone, until the next look. */
function createLookUp(): LookUp {
  const resolveName = createResolveName()
  return async function lookUp(host) {
    const limit = { name: `The name server asked for ${host}`, timeoutMs: LOOK_UP_MS }
    const found = await deadline(limit, (signal) => resolveName(host, signal)).catch(() => [])
    return found.map(({ address }) => address)
  }
}
