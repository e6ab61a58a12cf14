import type { SecretKeys } from '../../shared/crew-token.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import type { Failure } from '../runs/runs.ts'
import type { ModelConnection } from './llm-connections.ts'
import { createLlmKeys } from './llm-keys.ts'
import { describeRequirements } from './llm-providers.ts'
import { usageOf } from './llm-usage.ts'
import type { ReadVariable } from './llm-usage.ts'
import type { ModelEndpoint } from './model-endpoint.ts'

/** Its secret keys open the keys of LLM connections. */
export interface EndpointDeps extends SecretKeys {
  readonly readVariable: ReadVariable
}

/** Returns the endpoint of a connection with its key, or why there is none. */
export function endpointOf(
  deps: EndpointDeps,
  connection: ModelConnection,
): ModelEndpoint | string {
  const hasKey = connection.sealedKey !== null
  const { chatUrl, platformKey, missing } = usageOf({ ...connection, hasKey }, deps.readVariable)
  if (chatUrl === undefined) {
    return (
      `the provider ${connection.provider} has no OpenAI-compatible address. Give the ` +
      'connection a base URL.'
    )
  }
  const problem = addressProblem(chatUrl)
  if (problem !== undefined) return `its base URL ${problem}. Save it in that form.`
  // An address of its own may take calls without a key: only a call can say.
  if (missing.length > 0 && !connection.baseUrl) {
    const needed = describeRequirements(missing)
    return `it has no key, and the platform has no ${needed}. Enter a key, or set the variable.`
  }
  const { api } = connection
  // Crews of former versions know no other one.
  const base = { base_url: chatUrl, ...(api === 'auto' ? {} : { api }) }
  if (connection.sealedKey) {
    const keys = createLlmKeys(deps.secretKeyBase, deps.previousSecretKeyBase)
    const key = keys.open(connection.sealedKey, connection)
    return key === undefined
      ? 'its key was stored with another SECRET_KEY_BASE. Enter the key again.'
      : { ...base, api_key: key }
  }
  return platformKey === undefined ? base : { ...base, api_key: platformKey }
}

/** Names the LLM connection by which the model of a failure was called, and what to check in it. */
export function nameConnection(failure: Failure, name: string | undefined): Failure {
  const { code, message } = failure
  if (name === undefined || !code.startsWith('llm_')) return failure
  const what = /\bHTTP 40[13]\b/.test(message) ? 'the key of ' : ''
  return { code, message: `${message} Check ${what}the LLM connection "${name}".` }
}
