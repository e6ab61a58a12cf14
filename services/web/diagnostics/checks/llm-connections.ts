import { html } from 'hono/html'
import { listAllLlmConnections, readOnly } from '../../../platform/diagnostics.ts'
import { describeRequirements, providerOf } from '../../../platform/connections/llm-providers.ts'
import { usageOf } from '../../../platform/connections/llm-usage.ts'
import { createForwardProxy, routeThrough } from '../../../shared/outgoing/forward-proxy.ts'
import { plural } from '../../console/frame/format.ts'
import type { Check, ProviderUrls } from '../check.ts'
import { databaseFailure } from '../database-failure.ts'
import { declareCodes } from '../failure-code.ts'
import { failed, passed, skipped, warning, withWarnings } from '../finding.ts'
import type { Finding, Warning } from '../finding.ts'
import { orAbort } from '../or-abort.ts'
import { findMissing, missingList } from './llm-connections/missing-credentials.ts'
import type { MissingCredentials, UsedConnection } from './llm-connections/missing-credentials.ts'
import type { ForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { httpGet } from '../http-get.ts'
import { describeOutage } from '../outage.ts'

interface LlmDetails {
  readonly connection_count: number
  readonly probed_providers: readonly string[]
  readonly missing_credentials: readonly MissingCredentials[]
  readonly unreachable_providers: readonly UnreachableProvider[]
}

const failures = declareCodes({
  llm_missing_credentials:
    'Set the missing variables on the web pods, give the connections keys of their own, or ' +
    'remove them.',
  llm_unreachable:
    'Check that the cluster may reach the providers: egress policy, proxy (global.proxy), DNS.',
})

const warnings = declareCodes({
  llm_provider_unsupported:
    'Give the connection the base URL of an OpenAI-compatible endpoint, such as a gateway in ' +
    'front of the provider, or remove it.',
})

/**
 * Every LLM connection has its credentials on this pod, and every public provider in use can be
 * reached. No credential is sent.
 */
export const llmConnectionsCheck: Check<LlmDetails> = {
  weight: 'optional',
  title: 'LLM connections',
  skipped: 'There is no LLM connection yet',
  failures,
  warnings,
  timeout: failures.llm_unreachable,
  page: {
    facts: ({ connection_count: count }) =>
      count ? [html`<li>${plural(count, 'connection')}</li>`] : [],
    failure: ({ missing_credentials: missing = [] }) => missingList(missing),
  },

  async run({ signal, sql }, { config, readVariable, providerUrls }) {
    let connections: Awaited<ReturnType<typeof listAllLlmConnections>>
    try {
      connections = await orAbort(signal, readOnly(sql, listAllLlmConnections))
    } catch (thrown) {
      return databaseFailure(thrown)
    }
    if (connections.length === 0) return skipped()
    const used = connections.map((connection) => ({
      connection,
      usage: usageOf(connection, readVariable),
    }))
    const urls = publicUrls(used, providerUrls)
    const calls = { signal, proxy: createForwardProxy(config) }
    return toFinding({ used, urls, unreachable: await findUnreachable(urls, calls) })
  },
}

/** Connections that have all they need, but whose provider no run can call. */
const warnOfUnsupported = (used: readonly UsedConnection[]): Warning[] =>
  used
    .filter(({ usage }) => usage.chatUrl === undefined && usage.missing.length === 0)
    .map(({ connection: { id, provider } }) =>
      warning(
        warnings.llm_provider_unsupported,
        `no run can use the connection ${id}: the provider ${provider} has no ` +
          'OpenAI-compatible address',
      ),
    )

/**
 * The public address of each provider; none for an address that only this tenant has, and none
 * where a variable leads elsewhere.
 */
const publicUrls = (
  used: readonly UsedConnection[],
  providerUrls: ProviderUrls,
): ReadonlyMap<string, string> =>
  new Map(
    used.flatMap(({ connection, usage }) => {
      const { name } = providerOf(connection.provider)
      return usage.publicUrl ? [[name, providerUrls[name] ?? usage.publicUrl] as const] : []
    }),
  )

interface Checked {
  readonly used: readonly UsedConnection[]
  readonly urls: ReadonlyMap<string, string>
  readonly unreachable: readonly UnreachableProvider[]
}

function toFinding({ used, urls, unreachable }: Checked): Finding<LlmDetails> {
  const missing = findMissing(used)
  const own: Partial<LlmDetails> = {
    connection_count: used.length,
    probed_providers: [...urls.keys()],
    ...(missing.length > 0 ? { missing_credentials: missing } : {}),
    ...(unreachable.length > 0 ? { unreachable_providers: unreachable } : {}),
  }
  const details = withWarnings(own, warnOfUnsupported(used))
  const errors = [
    ...(missing.length > 0 ? [describeMissing(missing)] : []),
    ...(unreachable.length > 0 ? [describeUnreachable(unreachable)] : []),
  ]
  if (errors.length === 0) return passed({ details })
  const cause = missing.length > 0 ? failures.llm_missing_credentials : failures.llm_unreachable
  return failed(cause, errors.join('; '), { details })
}

const describeMissing = (missing: readonly MissingCredentials[]): string =>
  `missing required credentials: ${describeRequirements(missing.map((each) => each.missing))}`

function describeUnreachable(unreachable: readonly UnreachableProvider[]): string {
  const each = unreachable.map(({ provider, error }) => `${provider} (${error})`)
  return `provider(s) unreachable: ${each.join(', ')}`
}

/** A provider that gave no answer at its public address. */
interface UnreachableProvider {
  readonly provider: string
  readonly host: string
  readonly error: string
}

/** Asks the address of each provider at the same time; any answer counts. Never rejects. */
async function findUnreachable(
  urls: ReadonlyMap<string, string>,
  { signal, proxy }: { readonly signal: AbortSignal; readonly proxy: ForwardProxy },
): Promise<UnreachableProvider[]> {
  const results = await Promise.all(
    [...urls].map(async ([provider, address]): Promise<UnreachableProvider | undefined> => {
      const url = new URL(address)
      try {
        await httpGet(url, { signal, bytesMax: 0, route: routeThrough(proxy, url) })
        return undefined
      } catch (thrown) {
        return { provider, host: url.host, error: describeOutage(thrown) }
      }
    }),
  )
  return results.filter((result) => result !== undefined)
}
