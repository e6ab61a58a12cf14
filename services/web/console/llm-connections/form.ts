import type { LlmConnectionFields } from '../../../platform/connections/llm-connections.ts'
import { LLM_APIS } from '../../../platform/connections/model-endpoint.ts'
import type { LlmApi } from '../../../platform/connections/model-endpoint.ts'
import { addressProblem as spellingProblem } from '../../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'

/**
 * The fields of a connection as they were typed. The key is not among them: it is never shown
 * again, not even in a form that was refused.
 */
export interface TypedConnection {
  readonly name: string
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  readonly api: LlmApi
}

/** A form of a connection, read. */
export interface ReadConnection {
  readonly typed: TypedConnection
  /** Empty: no key was typed. */
  readonly key: string
  readonly forgetKey: boolean
  readonly problem: string | undefined
}

/** The longest text that each field takes, in characters. */
export const LENGTHS = { name: 100, provider: 60, model: 200, baseUrl: 500, key: 4000 }

/** The form of a new connection. */
export const EMPTY: TypedConnection = {
  name: '',
  provider: '',
  model: '',
  baseUrl: '',
  api: 'auto',
}

/** Reads the form of a connection, with the first problem in it. */
export function readConnectionForm(form: URLSearchParams, guard: OutgoingGuard): ReadConnection {
  const read = (name: string): string => (form.get(name) ?? '').trim()
  const typed = {
    name: read('name'),
    provider: read('provider').toLowerCase(),
    model: read('model'),
    baseUrl: read('base_url').replace(/\/+$/, ''),
    api: LLM_APIS.find((api) => api === read('api')) ?? 'auto',
  }
  const key = read('api_key')
  const problem =
    textProblem('name', typed.name, LENGTHS.name) ??
    providerProblem(typed.provider) ??
    textProblem('model', typed.model, LENGTHS.model) ??
    addressProblem(typed.baseUrl, guard) ??
    apiProblem(read('api')) ??
    keyProblem(key)
  return { typed, key, forgetKey: form.get('forget_key') === 'yes', problem }
}

/** Returns the stored fields of a connection of this organization. */
export const toFields = (
  organizationId: number,
  { baseUrl, ...typed }: TypedConnection,
): LlmConnectionFields => ({ organizationId, ...typed, baseUrl: baseUrl || null })

function textProblem(field: string, text: string, lengthMax: number): string | undefined {
  if (text === '') return `Fill in the ${field}.`
  if (text.length > lengthMax) return `The ${field} must have at most ${lengthMax} characters.`
  return /\p{Cc}/u.test(text) ? `The ${field} must have no control characters.` : undefined
}

function providerProblem(provider: string): string | undefined {
  if (provider.length <= LENGTHS.provider && /^[a-z0-9][a-z0-9_-]*$/.test(provider)) {
    return undefined
  }
  return (
    'The provider must be one word of letters, digits, - and _, ' +
    'such as openai, anthropic or groq.'
  )
}

function addressProblem(address: string, guard: OutgoingGuard): string | undefined {
  if (address === '') return undefined
  if (address.length > LENGTHS.baseUrl) {
    return `The base URL must have at most ${LENGTHS.baseUrl} characters.`
  }
  const problem =
    spellingProblem(address) ?? (address.includes('?') ? 'must have no query' : undefined)
  if (problem !== undefined) {
    return `The base URL ${problem}, such as https://llm.example.com/v1.`
  }
  return guard.problemOf(new URL(address))
}

function apiProblem(api: string): string | undefined {
  if (api === '' || LLM_APIS.some((known) => known === api)) return undefined
  return `The API must be one of ${LLM_APIS.join(', ')}.`
}

function keyProblem(key: string): string | undefined {
  if (key.length > LENGTHS.key) return `An API key must have at most ${LENGTHS.key} characters.`
  return key === '' || /^[\x21-\x7e]+$/.test(key)
    ? undefined
    : 'An API key must have visible ASCII characters only. Was something else pasted?'
}
