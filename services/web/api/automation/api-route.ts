import type { Context } from 'hono'
import type { Log } from '../../../shared/log.ts'
import type { InsertRun } from '../../../platform/runs/insert-runs.ts'
import type { QueueRoom } from '../../../platform/runs/queue-room.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { WebConfig } from '../../env.ts'
import type { TakeTurn } from '../../http/file-uploads.ts'
import type { TextWatch } from '../../run-texts/text-watch.ts'
import type { RunWatch } from './run-watch.ts'

/** The dependencies of a route. */
export interface ApiRouteDeps {
  readonly sql: Database
  readonly log: Log
  /** Wakes calls that wait for a run. */
  readonly watch: RunWatch
  /** Brings what models write. */
  readonly texts: TextWatch
  readonly takeTurn: TakeTurn
  readonly queue: QueueRoom
  readonly insert: InsertRun
  readonly config: Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX' | 'PLATFORM_VERSION'>
}

/** One address of the automation API (SPEC 4.4), for callers whose token was accepted. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST'
  /** Below the address of the automation. */
  readonly path: string
  readonly answer: (c: Context<AuthorizedCall>, deps: ApiRouteDeps) => Promise<Response>
}

/** The time after which a caller may ask for the status again. */
export const RETRY_AFTER_SECONDS = '2'
