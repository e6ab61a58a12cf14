import type { Context } from 'hono'
import type { InsertRun } from '../../../platform/runs/insert-runs.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import type { TakeTurn } from '../../http/file-uploads.ts'
import { describing } from '../openapi/operation.ts'
import type { Operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'

type Shared = 'sql' | 'log' | 'watch' | 'texts' | 'queue' | 'apis' | 'config'

/** The dependencies of a route. */
export interface ApiRouteDeps extends Pick<WebDeps, Shared> {
  readonly takeTurn: TakeTurn
  readonly insert: InsertRun
}

/** One address of the automation API (SPEC 4.4), for callers whose token was accepted. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST'
  /** Below the address of the automation. */
  readonly path: string
  readonly operation: Operation
  readonly answer: (c: Context<AuthorizedCall>, deps: ApiRouteDeps) => Promise<Response>
}

/** What any call of an automation is refused with. */
export const refusedCalls = {
  ...s.refusedTokens('No token, or one that does not open this automation.'),
  503: 'The database or the identity provider is unavailable. Try again.',
}
const describingWith = (scope: 'read' | 'kickoff') =>
  describing({
    tag: 'Automations',
    ...refusedCalls,
    403: s.problem(`The token lacks the scope \`${scope}\`.`, s.challenge),
  })
/** Describes an operation that reads. */
export const reading = describingWith('read')
/** Describes an operation that starts a run, or changes one. */
export const starting = describingWith('kickoff')
/** The refusal of a run that is not there. */
export const noKickoff = { 404: 'This automation has no such kickoff.' }

/** The time after which a caller may ask for the status again. */
export const RETRY_AFTER_SECONDS = '2'
