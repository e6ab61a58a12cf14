import * as v from 'valibot'
import { didYouMean } from './closest.ts'

/** An object with these keys and no others, whose messages name what is allowed. */
export function closedObject<Entries extends v.ObjectEntries>(entries: Entries) {
  const allowed = Object.keys(entries)
  return v.strictObject(entries, ({ expected, received, path }) => {
    const last = path?.at(-1)?.key
    const key = typeof last === 'string' ? last : ''
    if (expected === 'never') {
      const near = didYouMean(key, allowed)
      return `${key} is not known${near === '' ? '' : `.${near}`}; allowed: ${allowed.join(', ')}`
    }
    return received === 'undefined' && path ? `${key} is required` : 'must be an object'
  })
}

/**
 * Names the place of a mistake and the mistake: `agents[0]: role is required`, `agents[0].role:
 * must be a text`.
 */
export function describeIssue(issue: v.BaseIssue<unknown>, root: string): string {
  const path = issue.path ?? []
  // What is wrong with a key is said of the object that has it.
  const isOfKey = issue.type === 'strict_object' && path.at(-1)?.origin === 'key'
  const place = (isOfKey || isMissing(issue) ? path.slice(0, -1) : path)
    .map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
  return `${place.replace(/^\./, '') || root}: ${issue.message}`
}

const isMissing = ({ type, received, path }: v.BaseIssue<unknown>): boolean =>
  type === 'strict_object' && received === 'undefined' && path !== undefined
