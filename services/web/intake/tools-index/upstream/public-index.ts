import { createOutgoingGuard } from '../../../../shared/outgoing/guard.ts'
import { createTurns } from '../../../../shared/outgoing/turns.ts'
import type { ListFiles, PublicIndexOptions } from './index-deps.ts'
import { openFile } from './open-file.ts'
import type { SentFile, WantedFile } from './open-file.ts'
import { createPages } from './pages.ts'

const TURNS = {
  concurrent: 16,
  waitingMax: 512,
  busy: 'Too many packages are being fetched from the public index. Try again.',
}

/** Reads packages from a public index, and keeps what was read. */
export interface PublicIndex {
  readonly list: ListFiles
  /**
   * Opens a file. Its last part comes only once all of it had the right SHA-256. Raises
   * `not_found` and `bad_gateway`.
   */
  open(wanted: WantedFile, subject: string): Promise<SentFile>
}

const toBasic = ({ username, password }: { username: string; password: string }): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/**
 * Opens the public index of the operator. Calls go to public addresses, to the index itself
 * wherever it is, and to origins that the operator lists.
 */
export function createPublicIndex({
  url,
  credential,
  privateOrigins,
  proxy,
  ...options
}: PublicIndexOptions): PublicIndex {
  const base = new URL(`${url}/`)
  const guard = createOutgoingGuard({
    privateOrigins: [base.origin, ...privateOrigins],
    setting: 'TOOLS_UPSTREAM_PRIVATE_ORIGINS (chart: outgoing.indexPrivateOrigins)',
    proxy,
  })
  const signIn = credential && { origin: base.origin, authorization: toBasic(credential) }
  const deps = { ...options, base, guard, signIn, takeTurn: createTurns(TURNS) }
  const list = createPages(deps)
  return {
    list,
    open: (wanted, subject) =>
      openFile(deps, wanted, { subject, list: () => list(wanted.name, subject) }),
  }
}
