import type { UpstreamFile } from '../../../platform/upstream-packages.ts'
import type { Log } from '../../../shared/log.ts'
import { createOutgoingGuard } from '../../../shared/outgoing/guard.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import { createTurns } from '../../../shared/outgoing/turns.ts'
import type { TakeTurns } from '../../../shared/outgoing/turns.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { openFile } from './open-file.ts'
import type { SentFile, WantedFile } from './open-file.ts'
import { createPages } from './pages.ts'

const TURNS = {
  concurrent: 16,
  waitingMax: 512,
  busy: 'Too many packages are being fetched from the public index. Try again.',
}

/** The public index that the operator names. */
export interface PublicIndexOptions {
  readonly sql: Database
  /** Where names begin: https://pypi.org/simple. */
  readonly url: string
  /** The most that is kept of it, in bytes. */
  readonly bytesMax: number
  readonly log: Log
}

/** What calls of a public index need. */
export interface IndexDeps extends Omit<PublicIndexOptions, 'url'> {
  readonly base: URL
  readonly guard: OutgoingGuard
  /** A few calls at a time for each subject. */
  readonly takeTurn: TakeTurns
}

/** Reads packages from a public index, and keeps what was read. */
export interface PublicIndex {
  /** Returns the files of a name; empty when there is none of it. Raises `bad_gateway`. */
  list(name: string, subject: string): Promise<readonly UpstreamFile[]>
  /**
   * Opens a file. Its last part comes only once all of it had the right SHA-256. Raises
   * `not_found` and `bad_gateway`.
   */
  open(wanted: WantedFile, subject: string): Promise<SentFile>
}

/**
 * Opens the public index of the operator. Calls go to public addresses, and to the index itself
 * wherever it is.
 */
export function createPublicIndex({ url, ...options }: PublicIndexOptions): PublicIndex {
  const base = new URL(`${url}/`)
  const guard = createOutgoingGuard({
    privateOrigins: [base.origin],
    setting: 'TOOLS_UPSTREAM (chart: tools.upstream)',
  })
  const deps = { ...options, base, guard, takeTurn: createTurns(TURNS) }
  const list = createPages(deps)
  return {
    list,
    open: (wanted, subject) =>
      openFile(deps, wanted, { subject, list: () => list(wanted.name, subject) }),
  }
}
