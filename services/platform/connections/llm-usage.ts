import type { EnvSource } from '../../shared/env.ts'
import { providerOf, PROVIDER_VARIABLES } from './llm-providers.ts'

/** The value of a variable on this pod; undefined when it is not set, or to white space. */
export type ReadVariable = (name: string) => string | undefined

/** Returns a reader of these variables. */
export const readerOf =
  (source: EnvSource): ReadVariable =>
  (name) =>
    source[name]?.trim() || undefined

interface Connection {
  readonly provider: string
  /** An address that the organization chose. */
  readonly baseUrl: string | null
  /** It has a key of its own. */
  readonly hasKey: boolean
}

/** The use of an LLM connection by runs. */
export interface LlmUsage {
  /** The address of `chat/completions`; undefined: the provider does not answer as OpenAI does. */
  readonly chatUrl: string | undefined
  /** The platform's own key, where they send it. */
  readonly platformKey: string | undefined
  /**
   * Groups of variables that they cannot do without, and of which none is set; any one of a group
   * would do.
   */
  readonly missing: readonly (readonly string[])[]
  /**
   * The public address of the provider; undefined where the address is specific to this tenant
   * (SPEC 2.3).
   */
  readonly publicUrl: string | undefined
}

/** Returns the use of a connection: one rule for its runs, its test, and the diagnostic report. */
export function usageOf(connection: Connection, read: ReadVariable): LlmUsage {
  return {
    chatUrl: chatUrlOf(connection, read),
    platformKey: platformKeyOf(connection, read),
    missing: missingOf(connection, read),
    publicUrl: publicUrlOf(connection, read),
  }
}

/** An address of the connection's own stands for all that is required but the credentials. */
function missingOf(
  { provider, baseUrl, hasKey }: Connection,
  read: ReadVariable,
): LlmUsage['missing'] {
  const { requires, url = '', isImitated = false } = providerOf(provider)
  const unmet = requires.filter((group) => !group.some(read))
  if (!baseUrl) return unmet.filter((group) => !(hasKey && group.some(isKey)))
  if (hasKey || (isImitated && hostOf(baseUrl) !== hostOf(url))) return []
  return unmet.filter((group) =>
    group.some((variable) => /KEY|TOKEN|CREDENTIALS|_(PAT|JWT)$/.test(variable)),
  )
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '')

/** The connection's own address, a variable, or the public one. */
function chatUrlOf({ provider, baseUrl }: Connection, read: ReadVariable): string | undefined {
  const { url, chatUrl = url, overrides = [], requires } = providerOf(provider)
  const variables = [...overrides, ...(url ? [] : requires.flat())].filter(isAddress)
  if (baseUrl) return baseUrl.replace(/\/+$/, '')
  const found = variables.map(read).find((value) => value) ?? chatUrl
  return found && /^https?:\/\//.test(found) && URL.canParse(found)
    ? new URL(found).href.replace(/\/+$/, '')
    : undefined
}

/**
 * The platform's own key goes to the provider and where the platform's variables lead, and never to
 * an address that an organization chose: whoever can choose that could read the key.
 */
function platformKeyOf({ provider, baseUrl }: Connection, read: ReadVariable): string | undefined {
  if (baseUrl) return undefined
  const keys = providerOf(provider).requires.flat().filter(isKey)
  return keys.map(read).find((value) => value)
}

function publicUrlOf({ provider, baseUrl }: Connection, read: ReadVariable): string | undefined {
  const { url, overrides = [] } = providerOf(provider)
  return baseUrl || overrides.some(read) ? undefined : url
}

/**
 * Returns the origins in the platform's own variables: the operator allows them by naming them.
 */
export function originsOf(read: ReadVariable): readonly string[] {
  const addresses = [...PROVIDER_VARIABLES].filter(isAddress).map((name) => read(name) ?? '')
  return addresses
    .filter((address) => /^https?:\/\//.test(address) && URL.canParse(address))
    .map((address) => new URL(address).origin)
}

const isAddress = (variable: string): boolean => /_(BASE|URL|ENDPOINT|HOST)$/.test(variable)
const isKey = (variable: string): boolean => /(API_?KEY|_TOKEN|_PAT)$/.test(variable)
