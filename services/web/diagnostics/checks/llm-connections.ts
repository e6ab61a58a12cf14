import { listAllLlmConnections, readOnly } from '../../../platform/diagnostics.ts'
import { describeOutage, failed, passed, skipped } from '../findings.ts'
import { probe } from '../http-probe.ts'
import { describeRequirements, providerOf, unmetGroups } from '../../../platform/llm-providers.ts'
import type { HasVariable } from '../../../platform/llm-providers.ts'
import type { Finding } from '../report.ts'
import { orAbort } from '../run-checks.ts'
import type { Check } from '../run-checks.ts'
import { databaseFailure } from './database.ts'

/** Where providers are, instead of their public addresses. */
export type ProviderUrls = Readonly<Record<string, string>>

interface Connection {
  readonly id: number
  readonly provider: string
  readonly baseUrl: string | null
  readonly hasKey: boolean
}

/** Every LLM connection has its credentials on this pod, and every public provider can be reached. No credential is sent. */
export function llmConnectionsCheck(
  hasVariable: HasVariable,
  providerUrls: ProviderUrls = {},
): Check {
  return {
    timeoutCode: 'llm_unreachable',
    async run({ signal, sql }) {
      let connections: readonly Connection[]
      try {
        connections = await orAbort(signal, readOnly(sql, listAllLlmConnections))
      } catch (thrown) {
        return databaseFailure(thrown)
      }
      if (connections.length === 0) return skipped()
      const missing = findMissing(connections, hasVariable)
      const urls = publicUrls(connections, { hasVariable, providerUrls })
      const unreachable = await findUnreachable(urls, signal)
      return judge({ connections, missing, urls, unreachable })
    },
  }
}

interface Missing {
  readonly connection_id: number
  readonly provider: string
  /** One variable for each requirement that is not met. */
  readonly missing: readonly string[]
  /** Where more than one variable would do: all of them. */
  readonly any_of?: readonly (readonly string[])[]
}

function findMissing(connections: readonly Connection[], hasVariable: HasVariable): Missing[] {
  return connections.flatMap((connection) => {
    const groups = unmetGroups(connection, hasVariable)
    if (groups.length === 0) return []
    const anyOf = groups.filter((group) => group.length > 1)
    return [
      {
        connection_id: connection.id,
        provider: connection.provider,
        missing: groups.map(([first = '']) => first),
        ...(anyOf.length > 0 ? { any_of: anyOf } : {}),
      },
    ]
  })
}

/** One address for each provider; none for what only this tenant has, and none where a variable leads elsewhere. */
function publicUrls(
  connections: readonly Connection[],
  { hasVariable, providerUrls }: { hasVariable: HasVariable; providerUrls: ProviderUrls },
): ReadonlyMap<string, string> {
  const urls = new Map<string, string>()
  for (const { provider, baseUrl } of connections) {
    const { name, url, overrides = [] } = providerOf(provider)
    if (url && !baseUrl && !overrides.some(hasVariable)) {
      urls.set(name, providerUrls[name] ?? url)
    }
  }
  return urls
}

interface Unreachable {
  readonly provider: string
  readonly host: string
  readonly error: string
}

async function findUnreachable(
  urls: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Unreachable[]> {
  const outcomes = await Promise.all(
    [...urls].map(async ([provider, address]): Promise<Unreachable | undefined> => {
      const url = new URL(address)
      try {
        await probe(url, { signal, bytesMax: 0 })
        return undefined
      } catch (thrown) {
        return { provider, host: url.host, error: describeOutage(thrown) }
      }
    }),
  )
  return outcomes.filter((outcome) => outcome !== undefined)
}

interface Outcome {
  readonly connections: readonly Connection[]
  readonly missing: readonly Missing[]
  readonly urls: ReadonlyMap<string, string>
  readonly unreachable: readonly Unreachable[]
}

function judge({ connections, missing, urls, unreachable }: Outcome): Finding {
  const details = {
    connection_count: connections.length,
    probed_providers: [...urls.keys()],
    ...(missing.length > 0 ? { missing_credentials: missing } : {}),
    ...(unreachable.length > 0 ? { unreachable_providers: unreachable } : {}),
  }
  const errors = [
    ...(missing.length > 0 ? [describeMissing(missing)] : []),
    ...(unreachable.length > 0 ? [describeUnreachable(unreachable)] : []),
  ]
  if (errors.length === 0) return passed({ details })
  const code = missing.length > 0 ? 'llm_missing_credentials' : 'llm_unreachable'
  return failed(code, errors.join('; '), { details })
}

const describeMissing = (missing: readonly Missing[]): string =>
  `missing required credentials: ${describeRequirements(missing.map((each) => each.missing))}`

const describeUnreachable = (unreachable: readonly Unreachable[]): string =>
  `provider(s) unreachable: ${unreachable.map(({ provider, error }) => `${provider} (${error})`).join(', ')}`
