import { markDown } from '../../platform/automations/automations.ts'
import {
  CREW_LEASE_SECONDS,
  releaseCrew,
  renewCrew,
  takeCrew,
  wakeSleepers,
} from '../../platform/crews/crew-leases.ts'
import type { LeasedCrew } from '../../platform/crews/crew-leases.ts'
import { toError } from '../../shared/errors.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { keepLease } from '../run/hold-run.ts'
import { startLoop } from '../run/loop.ts'
import type { CrewDeps } from './bring-up-crew.ts'
import type { CrewHost } from './crew-host.ts'
import { LOOK_SECONDS, reconcileCrew } from './reconcile-crew.ts'

/** The crews that one worker looks after at a time; hosts limit how many are built. */
const CONCURRENCY = 16
/** The wait after trouble that is not the crew's fault. */
const TROUBLE_SECONDS = 30

const NO_HOST =
  'Nothing on this platform runs crews from source: its workers have neither a cluster nor a ' +
  'Python of their own. An administrator sets it up; it starts by itself then.'

/** What a reconciler works with. */
interface ReconcilerDeps extends Omit<CrewDeps, 'host'> {
  /** Undefined where nothing can run crews. */
  readonly host: CrewHost | undefined
  readonly pollMs?: number
}

/** A reconciler that runs. */
export interface Reconciler {
  readonly wake: () => void
  /** Lets go of all crews, and stops the host. */
  stop(): Promise<void>
}

/**
 * Holds what runs of automations from source against what is wanted of them: when somebody changes
 * one, when a run waits for one that sleeps, and every minute. Each is looked after by one worker
 * at a time.
 */
export function startReconciler({ pollMs, ...deps }: ReconcilerDeps): Reconciler {
  const { sql, log, host } = deps
  const passes = new Map<string, () => void>()
  const loop = startLoop<LeasedCrew>({
    take: (limit) => takeDue(sql, limit),
    async run(crew, { pause }) {
      const hold = holdCrew(sql, crew, pause)
      passes.set(String(crew.deploymentId), hold.check)
      try {
        await releaseCrew(sql, crew, await look(deps, crew, hold.signal))
      } finally {
        passes.delete(String(crew.deploymentId))
        hold.release()
      }
    },
    putBack: (crew) => releaseCrew(sql, crew, 0),
    concurrency: CONCURRENCY,
    pollMs,
    log,
  })
  const { wake } = loop
  const changed = (id: string): void => {
    passes.get(id)?.()
    wake()
  }
  // A run that is queued for a crew that sleeps counts as a change of it.
  const changes = { channel: 'crew_deployments', hear: changed, onOpen: wake, log }
  const stopListening = listen(sql, changes)
  return {
    wake,
    async stop() {
      stopListening()
      await loop.stop(0)
      await host?.stop()
    },
  }
}

async function takeDue(sql: Database, limit: number): Promise<LeasedCrew[]> {
  await wakeSleepers(sql)
  const taken: LeasedCrew[] = []
  while (taken.length < limit) {
    const crew = await takeCrew(sql)
    if (!crew) break
    taken.push(crew)
  }
  return taken
}

/** Returns the seconds until the next look. Never raises. */
async function look(
  { host, ...deps }: Omit<ReconcilerDeps, 'pollMs'>,
  crew: LeasedCrew,
  signal: AbortSignal,
): Promise<number> {
  const { sql, log } = deps
  try {
    if (host) return await reconcileCrew({ ...deps, host }, crew, signal)
    await explain(sql, crew, NO_HOST)
    return LOOK_SECONDS
  } catch (thrown) {
    if (signal.aborted) return 0
    const reason = toError(thrown).message
    const { slug } = crew.automation
    log.warn({ crew: slug, err: toError(thrown) }, 'a crew cannot be looked after; trying again')
    await explain(sql, crew, `It cannot be looked after at the moment: ${reason}`).catch(() => {})
    return TROUBLE_SECONDS
  }
}

/** Tells people why nothing happens; a crew that is online goes on. */
async function explain(sql: Database, crew: LeasedCrew, reason: string): Promise<void> {
  const { id, status, statusReason } = crew.automation
  if (status === 'Crew is Online' || statusReason === reason) return
  await markDown(sql, id, { status, reason: reason.slice(0, 500) })
}

/** A worker's hold on a crew, until `release`. */
interface Hold {
  /** Aborts when the worker stops, and when somebody changed or took over the crew. */
  readonly signal: AbortSignal
  /** Looks whether somebody did, at once. */
  readonly check: () => void
  readonly release: () => void
}

function holdCrew(sql: Database, crew: LeasedCrew, pause: AbortSignal): Hold {
  const lost = new AbortController()
  const lose = (): void => lost.abort(new Error('The automation was changed, or taken over.'))
  const renew = async (): Promise<boolean> => (await renewCrew(sql, crew)) === crew.change
  const leaseMs = CREW_LEASE_SECONDS * 1000
  const release = keepLease({ renew, everyMs: leaseMs / 3, leaseMs, onLost: lose })
  return {
    signal: AbortSignal.any([pause, lost.signal]),
    check() {
      // What the database cannot say now is noticed by the next renewal.
      renew().then(
        (isOurs) => isOurs || lose(),
        () => {},
      )
    },
    release,
  }
}
