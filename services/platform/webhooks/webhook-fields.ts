import { AppError } from '../../shared/errors.ts'
import { addressProblem as spellingProblem } from '../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { EVENT_TYPES, EVERY_EVENT } from './webhooks.ts'
import type { WebhookFields } from './webhooks.ts'

/** The longest address that a webhook takes, in characters. */
export const URL_LENGTH_MAX = 2000
const OTHERS_MAX = 20

/** Returns the fields of a webhook as they are stored. Raises `unprocessable`. */
export function readWebhook(
  guard: OutgoingGuard,
  { url, eventTypes, ...fields }: WebhookFields,
): WebhookFields {
  const problem = webhookAddressProblem(url, guard) ?? typesProblem(eventTypes)
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return { ...fields, url, eventTypes: [...new Set(eventTypes)] }
}

/** Returns why nothing may be sent to an address; undefined: it may. */
export function webhookAddressProblem(
  address: string,
  guard: OutgoingGuard,
  example = 'https://crm.example.com/webhooks',
): string | undefined {
  const misspelled = spellingProblem(address)
  if (misspelled !== undefined) {
    return `The address ${misspelled}, such as ${example}.`
  }
  const url = new URL(address)
  const problem = guard.problemOf(url)
  if (problem !== undefined) return problem
  return url.protocol === 'https:' || guard.isListed(url)
    ? undefined
    : 'The address must begin with https://: what is sent would be readable on its way.'
}

const KNOWN: ReadonlySet<string> = new Set([...EVENT_TYPES, EVERY_EVENT])

function typesProblem(types: readonly string[]): string | undefined {
  const others = types.filter((type) => !KNOWN.has(type))
  const odd = others.find((word) => !/^[a-z][a-z0-9_.-]{0,99}$/.test(word))
  if (odd !== undefined) {
    return `A type of events must be a word such as llm_call; “${odd.slice(0, 100)}” is none.`
  }
  if (others.length > OTHERS_MAX) return `Name at most ${OTHERS_MAX} other types of events.`
  return types.length > 0 ? undefined : 'Choose at least one type of events.'
}
