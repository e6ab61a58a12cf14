import { AppError } from '../errors.ts'

/** The longest canonical form that a message shows. */
const SHOWN_MAX = 200
/** Other characters of names mean one thing to one program and another thing to the next. */
const HOST = /^([a-z0-9_-]+\.)*[a-z0-9_-]+$|^\[[0-9a-f:]+\]$/

/**
 * Returns what is wrong with an address that calls are aimed by, as the rest of a sentence; a
 * message never repeats what may hold a password or a key.
 *
 * An address has one spelling, the one that parsing it results in: `\` is a `/` to some programs
 * and part of a user name to others, so what a guard vets and what is called could differ. Only the
 * `/` after the host may be missing. It is http or https, and has no user name, password or
 * fragment, no port that is the standard one, and no name that ends with a dot.
 */
export function addressProblem(given: string): string | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    return 'must be an absolute address that begins with https:// or http://'
  }
  if (url.username !== '' || url.password !== '' || given.includes('#')) {
    return 'must have no user name, password or fragment'
  }
  if (!HOST.test(url.hostname)) {
    return 'must have a host of letters, digits, - and _ with single dots between them'
  }
  if (given === url.href || given === url.origin) return undefined
  return (
    `must be written ${given.includes('@') ? 'plainly' : `as ${shownForm(url)}`}: host in lower ` +
    'case, no standard port, no backslash, space, control character or dot segment'
  )
}

/** A query may hold a key. */
const shownForm = ({ origin, pathname, search }: URL): string =>
  `${origin}${pathname}`.slice(0, SHOWN_MAX) + (search === '' ? '' : '?…')

/**
 * Parses an address that an organization chose: what is returned is what is called. Raises
 * `unprocessable` for one that was stored in another spelling; `what` begins the message, such as
 * `The address of the webhook`.
 */
export function readAddress(given: string, what: string): URL {
  const problem = addressProblem(given)
  if (problem === undefined) return new URL(given)
  throw new AppError('unprocessable', `${what} ${problem}. Save it in that form.`, {
    details: { problem: 'address_not_canonical' },
  })
}
