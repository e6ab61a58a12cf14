import type { Context } from 'hono'
import { writeRefusal } from '../../../platform/audit/audit.ts'
import type { Actor } from '../../../platform/audit/audit.ts'
import { toError } from '../../../shared/errors.ts'
import { routeOf } from '../../../shared/http/route-of.ts'
import type { WebDeps } from '../../context.ts'
import { actorOf, toIdentity } from './actor.ts'
import { createFailureThrottle } from './failure-throttle.ts'
import { readSession } from './session.ts'

/** Of one caller; a program that asks on and on fills no table. */
const EACH = { burst: 30, perSecond: 1 / 60, subjectsMax: 10_000 }

/**
 * Creates the verb that records in the audit that somebody was refused for lack of rights: `actor`,
 * or whoever has the session of the request. It does not hold up the answer, so that an address
 * which is hidden from a caller takes the time of one that is not there.
 */
export function createRefusals(deps: WebDeps): (c: Context, actor?: Actor) => void {
  const { sql, log } = deps
  const throttle = createFailureThrottle({ ...EACH, now: () => performance.now() })

  async function record(c: Context, known?: Actor): Promise<void> {
    const session = known ? undefined : await readSession(c, deps)
    const actor = known ?? (session && actorOf(c, deps, toIdentity(session.user)))
    if (!actor || throttle.fail(`${actor.kind} ${actor.id}`) > 0) return
    const target = { kind: 'route', id: `${c.req.method} ${routeOf(c)}`, name: c.req.path }
    await writeRefusal(sql, actor, { action: 'call_refused', target })
  }

  return function recordRefusal(c, actor) {
    record(c, actor).catch((thrown: unknown) => {
      log.warn({ reason: toError(thrown).message }, 'a refusal could not be recorded in the audit')
    })
  }
}
