import { EVENT_TYPES, EVERY_EVENT } from '../../../platform/webhooks.ts'
import type { WebhookFields } from '../../../platform/webhooks.ts'
import { addressProblem as spellingProblem } from '../../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'

/** The longest address that a webhook takes, in characters. */
export const URL_LENGTH_MAX = 2000
/** The longest list of other types, in characters. */
export const OTHERS_LENGTH_MAX = 1000
const OTHERS_MAX = 20

/** The fields of a webhook as they were typed. */
export interface TypedWebhook {
  readonly url: string
  /** The types that are ticked. */
  readonly ticked: readonly string[]
  /** Other types, with spaces between them. */
  readonly others: string
}

/** A form of a webhook, read. */
export interface ReadWebhook {
  readonly typed: TypedWebhook
  readonly problem: string | undefined
}

const OFFERED: readonly string[] = [...EVENT_TYPES, EVERY_EVENT]

/** The form of a new webhook. */
export const NEW_WEBHOOK: TypedWebhook = {
  url: '',
  ticked: ['run_completed', 'run_failed', 'run_stopped'],
  others: '',
}

/** Returns a webhook as its form shows it. */
export const toTyped = ({ url, eventTypes }: WebhookFields): TypedWebhook => ({
  url,
  ticked: eventTypes.filter((type) => OFFERED.includes(type)),
  others: eventTypes.filter((type) => !OFFERED.includes(type)).join(' '),
})

/** Returns the stored fields of a form without a problem. */
export const toFields = ({ url, ticked, others }: TypedWebhook): WebhookFields => ({
  url,
  eventTypes: [...new Set([...ticked, ...wordsOf(others)])],
})

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** Reads the form of a webhook, with the first problem in it. */
export function readWebhookForm(form: URLSearchParams, guard: OutgoingGuard): ReadWebhook {
  const typed = {
    url: (form.get('url') ?? '').trim(),
    ticked: OFFERED.filter((type) => form.getAll('event').includes(type)),
    others: (form.get('others') ?? '').slice(0, OTHERS_LENGTH_MAX).trim(),
  }
  return { typed, problem: addressProblem(typed.url, guard) ?? typesProblem(typed) }
}

function addressProblem(address: string, guard: OutgoingGuard): string | undefined {
  if (address.length > URL_LENGTH_MAX) {
    return `The address must have at most ${URL_LENGTH_MAX} characters.`
  }
  const misspelled = spellingProblem(address)
  if (misspelled !== undefined) {
    return `The address ${misspelled}, such as https://crm.example.com/webhooks.`
  }
  const url = new URL(address)
  const problem = guard.problemOf(url)
  if (problem !== undefined) return problem
  return url.protocol === 'https:' || guard.isListed(url)
    ? undefined
    : 'The address must begin with https://: what is sent would be readable on its way.'
}

function typesProblem({ ticked, others }: TypedWebhook): string | undefined {
  const words = wordsOf(others)
  const odd = words.find((word) => !/^[a-z][a-z0-9_.-]{0,99}$/.test(word))
  if (odd !== undefined) {
    return `A type of events must be a word such as llm_call; “${odd.slice(0, 100)}” is none.`
  }
  if (words.length > OTHERS_MAX) return `Name at most ${OTHERS_MAX} other types of events.`
  return ticked.length + words.length > 0 ? undefined : 'Choose at least one type of events.'
}
