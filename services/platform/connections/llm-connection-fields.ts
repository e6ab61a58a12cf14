import { AppError } from '../../shared/errors.ts'
import { addressProblem as spellingProblem } from '../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { LlmApi } from '../../shared/models/llm-call.ts'

/** What people and programs say of a connection. */
export interface GivenLlmConnection {
  readonly name: string
  readonly provider: string
  readonly model: string
  /** null: the provider's own. */
  readonly baseUrl: string | null
  readonly api: LlmApi
  /** null: they say none. */
  readonly region: string | null
  /** The service tier that runs of batches ask for; null: the usual one. */
  readonly batchTier?: string | null
  /** A key to store. Absent: the one that is there stays, unless it would go elsewhere. */
  readonly key?: string | undefined
}

/** The longest text that each field takes, in characters. */
export const LLM_LENGTHS = { name: 100, provider: 60, model: 200, baseUrl: 500, key: 4000 }

/** Returns a connection as it is stored. Raises `unprocessable` with the first problem. */
export function readLlmConnection(
  guard: OutgoingGuard,
  given: GivenLlmConnection,
): GivenLlmConnection {
  const name = given.name.trim()
  const provider = given.provider.trim().toLowerCase()
  const model = given.model.trim()
  const baseUrl = (given.baseUrl ?? '').trim().replace(/\/+$/, '')
  const key = (given.key ?? '').trim()
  const problem =
    textProblem('name', name) ??
    providerProblem(provider) ??
    textProblem('model', model) ??
    addressProblem(baseUrl, guard) ??
    keyProblem(key)
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return { ...given, name, provider, model, baseUrl: baseUrl || null, key: key || undefined }
}

function textProblem(field: 'name' | 'model', text: string): string | undefined {
  const lengthMax = LLM_LENGTHS[field]
  if (text === '') return `Fill in the ${field}.`
  if (text.length > lengthMax) return `The ${field} must have at most ${lengthMax} characters.`
  return /\p{Cc}/u.test(text) ? `The ${field} must have no control characters.` : undefined
}

function providerProblem(provider: string): string | undefined {
  if (provider.length <= LLM_LENGTHS.provider && /^[a-z0-9][a-z0-9_-]*$/.test(provider)) {
    return undefined
  }
  return (
    'The provider must be one word of letters, digits, - and _, ' +
    'such as openai, anthropic or groq.'
  )
}

function addressProblem(address: string, guard: OutgoingGuard): string | undefined {
  if (address === '') return undefined
  if (address.length > LLM_LENGTHS.baseUrl) {
    return `The base URL must have at most ${LLM_LENGTHS.baseUrl} characters.`
  }
  const problem =
    spellingProblem(address) ?? (address.includes('?') ? 'must have no query' : undefined)
  if (problem !== undefined) {
    return `The base URL ${problem}, such as https://llm.example.com/v1.`
  }
  return guard.problemOf(new URL(address))
}

function keyProblem(key: string): string | undefined {
  if (key.length > LLM_LENGTHS.key) {
    return `An API key must have at most ${LLM_LENGTHS.key} characters.`
  }
  return key === '' || /^[\x21-\x7e]+$/.test(key)
    ? undefined
    : 'An API key must have visible ASCII characters only. Was something else pasted?'
}
