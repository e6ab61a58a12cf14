import { noticeOf as noticeByHand } from '../console/frame/notices.ts'
import type { Identified, Reader, Shown } from './declaration.ts'
import { endOf, namesOf } from './names.ts'

/** What was done, and the action that takes it back. */
export interface Notice {
  readonly text: string
  readonly undo?: string | undefined
}

/**
 * Returns the notice that a redirect names: one of the declaration, or of the routes by hand beside
 * it, and never one from the address.
 */
export function noticeOf<Owner, Row extends Identified>(
  { kind, words, actions }: Shown<Owner, Row>,
  key: string | undefined,
): Notice | undefined {
  const { notice } = namesOf(kind)
  const [, end] = endOf({ words })
  const known = new Map<string, Notice>([
    [`${notice}-saved`, { text: words.saved }],
    [`${notice}-${end}`, { text: words.deleted ?? '' }],
    ...Object.values(actions).map(({ past, done, undo }): [string, Notice] => [
      `${notice}-${past.replaceAll('_', '-')}`,
      { text: done, undo },
    ]),
  ])
  const byHand = noticeByHand(key)
  return known.get(key ?? '') ?? (byHand === undefined ? undefined : { text: byHand })
}

/** Returns the notice that a redirect to a page by hand names. */
export const noticeIn =
  (key: string | undefined): Reader<Notice | undefined> =>
  (declaration) =>
    noticeOf(declaration, key)
