import { AppError } from '../shared/errors.ts'
import type { OutgoingGuard } from '../shared/outgoing/guard.ts'
import { EVENT_TYPES, EVERY_EVENT } from './webhooks.ts'
import type { WebhookFields } from './webhooks.ts'

/** The longest address that a webhook takes, in characters. */
export const URL_LENGTH_MAX = 2000
const OTHERS_MAX = 20

/** Returns the fields of a webhook as they are stored. Raises `unprocessable`. */
export function readWebhook(
  guard: OutgoingGuard,
  { url, eventTypes }: WebhookFields,
): WebhookFields {
  const problem = addressProblem(url, guard) ?? typesProblem(eventTypes)
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return { url: new URL(url).href, eventTypes: [...new Set(eventTypes)] }
}

function addressProblem(address: string, guard: OutgoingGuard): string | undefined {
  const url = /^https?:\/\/[\x21-\x7e]+$/.test(address) && URL.canParse(address) && new URL(address)
  if (!url || address.length > URL_LENGTH_MAX || url.href.length > URL_LENGTH_MAX) {
    return 'The address must be an https:// address, such as https://crm.example.com/webhooks.'
  }
  if (url.username || url.password || url.hash) {
    return 'The address must have no user name, password or fragment.'
  }
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
