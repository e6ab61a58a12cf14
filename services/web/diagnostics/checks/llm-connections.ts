import { listAllLlmConnections, readOnly } from '../../../platform/diagnostics.ts'
import { describeOutage, failed, passed, skipped, warning, withWarnings } from '../findings.ts'
import type { Warning } from '../findings.ts'
import { probe } from '../http-probe.ts'
import { describeRequirements, providerOf } from '../../../platform/llm-providers.ts'
import { usageOf } from '../../../platform/llm-usage.ts'
import type { LlmUsage, ReadVariable } from '../../../platform/llm-usage.ts'
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

interface Used {
  readonly connection: Connection
  readonly usage: LlmUsage
}

/** Every LLM connection has its credentials on this pod, and every public provider can be reached. No credential is sent. */
export function llmConnectionsCheck(read: ReadVariable, providerUrls: ProviderUrls = {}): Check {
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
      const used = connections.map((connection) => ({
        connection,
        usage: usageOf(connection, read),
      }))
      const urls = publicUrls(used, providerUrls)
      return judge({ used, urls, unreachable: await findUnreachable(urls, signal) })
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

const findMissing = (used: readonly Used[]): Missing[] =>
  used.flatMap(({ connection: { id, provider }, usage }) => {
    if (usage.missing.length === 0) return []
    const anyOf = usage.missing.filter((group) => group.length > 1)
    return [
      {
        connection_id: id,
        provider,
        missing: usage.missing.map(([first = '']) => first),
        ...(anyOf.length > 0 ? { any_of: anyOf } : {}),
      },
    ]
  })

/** Connections that have all they need, and that no run can call. */
const findUnsupported = (used: readonly Used[]): Warning[] =>
  used
    .filter(({ usage }) => usage.chatUrl === undefined && usage.missing.length === 0)
    .map(({ connection: { id, provider } }) =>
      warning(
        'llm_provider_unsupported',
        `no run can use the connection ${id}: the provider ${provider} has no OpenAI-compatible address`,
      ),
    )

/** One address for each provider; none for what only this tenant has, and none where a variable leads elsewhere. */
const publicUrls = (
  used: readonly Used[],
  providerUrls: ProviderUrls,
): ReadonlyMap<string, string> =>
  new Map(
    used.flatMap(({ connection, usage }) => {
      const { name } = providerOf(connection.provider)
      return usage.publicUrl ? [[name, providerUrls[name] ?? usage.publicUrl] as const] : []
    }),
  )

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
  readonly used: readonly Used[]
  readonly urls: ReadonlyMap<string, string>
  readonly unreachable: readonly Unreachable[]
}

function judge({ used, urls, unreachable }: Outcome): Finding {
  const missing = findMissing(used)
  const facts = {
    connection_count: used.length,
    probed_providers: [...urls.keys()],
    ...(missing.length > 0 ? { missing_credentials: missing } : {}),
    ...(unreachable.length > 0 ? { unreachable_providers: unreachable } : {}),
  }
  const details = withWarnings(facts, findUnsupported(used))
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
