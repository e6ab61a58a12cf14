import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import { clientAddress } from './client-address.ts'
import { createFailureThrottle } from './failure-throttle.ts'

const SUBJECTS_MAX = 10_000
/** At one automation, from one address. */
const EACH = { burst: 60, perSecond: 1, subjectsMax: SUBJECTS_MAX }
/** From one address, whatever it asks for: ids that are made up give no more. */
const ADDRESS = { burst: 240, perSecond: 4, subjectsMax: SUBJECTS_MAX }

interface HasBindings {
  Bindings: Partial<HttpBindings>
}

/** Counts tokens that are nobody's, over all of the APIs. */
export interface BadTokens {
  /**
   * The answer to a bad token that was presented for `target`: `error` itself, or `rate_limited`
   * when too many came from this address.
   */
  answer<Env extends HasBindings>(c: Context<Env>, error: AppError, target: string): AppError
}

/**
 * Slows down whoever presents one bad token after the other. Only what may be a guess, or noise, is
 * counted: a token that an identity provider signed is refused with 401 however often it comes
 * (SPEC 7), and a good one passes always.
 */
export function createBadTokens(proxies: number): BadTokens {
  const now = (): number => performance.now()
  const each = createFailureThrottle({ ...EACH, now })
  const address = createFailureThrottle({ ...ADDRESS, now })
  return {
    answer(c, error, target) {
      if (error.status >= 500) return error
      const from = clientAddress(c, proxies)
      // An address over its own limit adds no more subjects.
      const seconds = address.fail(from) || each.fail(`${from} ${target}`)
      return seconds > 0 ? tooManyFailures(seconds) : error
    },
  }
}

function tooManyFailures(seconds: number): AppError {
  return new AppError(
    'rate_limited',
    `Too many calls with bad tokens came from this address. Try again in ${seconds} s, with ` +
      'a good one.',
    { headers: { 'retry-after': String(seconds) } },
  )
}
