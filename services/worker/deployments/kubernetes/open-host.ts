import { findCrewNamespace } from '../../../platform/crews/crew-namespace.ts'
import { listConnectionsForModels } from '../../../platform/connections/llm-connections.ts'
import { isInside } from '../../../platform/connections/regions.ts'
import { originsOf, usageOf } from '../../../platform/connections/llm-usage.ts'
import { requireTrust } from '../../../platform/crews/build-trust.ts'
import { requireStorage } from '../../../platform/crews/crew-storage.ts'
import type { ReadVariable } from '../../../platform/connections/llm-usage.ts'
import { deadline } from '../../../shared/deadline.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import { createResolveName } from '../../../shared/outgoing/resolve-name.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { linkEndMs, sourceLink } from '../../../shared/source-link.ts'
import type { CrewHost, WantedCrew } from '../crew-host.ts'
import type { CrewCluster } from './cluster-settings.ts'
import { DRAIN_SECONDS } from './crew-deployment.ts'
import type { LookUp } from './crew-network.ts'
import type { CrewGifts } from './describe-crew.ts'
import { createKubernetesHost } from './kubernetes-host.ts'
import type { OpenCluster } from './open-cluster.ts'

/** A registry may be unavailable for a moment. */
const PATIENCE = { stuckMs: 60_000, pollMs: 2000 }
const LOOK_UP_MS = 5000

/** What crews in a cluster are given, and what they are described with. */
interface HostOptions {
  readonly kubernetes: Kubernetes
  readonly sql: Queryable
  readonly read: ReadVariable
  readonly secretKeyBase: string
  /** The room that the sources and images of an organization may take, in bytes. */
  readonly quotaBytes: number
  /** Returns the environment of a crew. */
  readonly environmentOf: (
    wanted: WantedCrew,
    drainSeconds: number,
  ) => Promise<Readonly<Record<string, string>>>
  /** Returns a token that reads an organization's tools until then. */
  readonly toolsTokenOf: (organizationId: number, expiresAtMs: number) => string
}

/** Opens the host of crews in a cluster. */
export function openKubernetesHost(
  { cluster, baseNamespace }: OpenCluster,
  options: HostOptions,
): CrewHost {
  const { kubernetes, sql } = options
  return createKubernetesHost({
    kubernetes,
    cluster,
    gifts: createGifts(cluster, options),
    placeOf: (organizationId) => findCrewNamespace(sql, baseNamespace, organizationId),
    patience: PATIENCE,
  })
}

function createGifts(
  { webUrl, proxy, builder, modelOrigins }: CrewCluster,
  { sql, read, secretKeyBase, environmentOf, toolsTokenOf, quotaBytes }: HostOptions,
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
      const { allowedRegions, connections } = await listConnectionsForModels(sql, organizationId)
      const models = connections.flatMap((each) => {
        if (!isInside(allowedRegions, each)) return []
        const connection = { ...each, hasKey: each.sealedKey !== null }
        const url = usageOf(connection, read).chatUrl
        if (url === undefined) return []
        const isChosen = each.baseUrl !== null && !modelOrigins.includes(new URL(url).origin)
        return [{ host: new URL(url).hostname, isChosen }]
      })
      const own = [...originsOf(read), proxy['HTTP_PROXY'], proxy['HTTPS_PROXY']]
      return {
        chosen: models.flatMap(({ host, isChosen }) => (isChosen ? [host] : [])),
        given: [
          ...models.flatMap(({ host, isChosen }) => (isChosen ? [] : [host])),
          ...own.flatMap((url) => (url ? [new URL(url).hostname] : [])),
        ],
      }
    },
    lookUp: createLookUp(),
    async requireBuild(organizationId) {
      if (builder) await requireTrust(sql, { organizationId, trusted: builder.organizations })
      await requireStorage(sql, { organizationId, quotaBytes }, 0)
    },
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
