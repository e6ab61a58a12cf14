import type { UpstreamFile } from '../../../../platform/tools/upstream-packages.ts'
import type { Log } from '../../../../shared/log.ts'
import type { ForwardProxy } from '../../../../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../../../../shared/outgoing/guard.ts'
import type { TakeTurns } from '../../../../shared/outgoing/turns.ts'
import type { Database } from '../../../../shared/postgres/database.ts'
import type { IndexSignIn } from './call-index.ts'

/** The public index that the operator names. */
export interface PublicIndexOptions {
  readonly sql: Database
  /** Where names begin: https://pypi.org/simple. */
  readonly url: string
  /** For an index that asks for a sign-in. */
  readonly credential: { readonly username: string; readonly password: string } | undefined
  /** Origins on private networks where it keeps its files. */
  readonly privateOrigins: readonly string[]
  /** The most that is kept of it, in bytes. */
  readonly bytesMax: number
  readonly log: Log
  /** Passes on what leaves the cluster. */
  readonly proxy: ForwardProxy
}

/** What calls of a public index need. */
export interface IndexDeps extends Omit<
  PublicIndexOptions,
  'url' | 'credential' | 'privateOrigins' | 'proxy'
> {
  readonly base: URL
  readonly guard: OutgoingGuard
  readonly signIn: IndexSignIn | undefined
  /** A few calls at a time for each subject. */
  readonly takeTurn: TakeTurns
}

/** Returns the files of a name; empty when there is none of it. Raises `bad_gateway`. */
export type ListFiles = (name: string, subject: string) => Promise<readonly UpstreamFile[]>
