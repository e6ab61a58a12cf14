import { AppError } from '../../shared/errors.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { Cluster } from '../kubernetes/cluster.ts'

/** Takes a change back. Raises `conflict` for what was changed again since. */
export type Undo = () => Promise<void>

/** One change that a fix makes, computed from what the doctor itself read. */
export interface Change {
  /** `Deployment platform/platform-worker`, `TABLE public.projects`. */
  readonly what: string
  readonly from: string
  readonly to: string
  /** What the operator must be allowed to do. */
  readonly right: string
  /** Makes it if all is as planned for. An `AppError` but `unavailable` says: nothing changed. */
  readonly apply: () => Promise<Undo>
}

/** The operator's own access, and the names of the installation. Nothing here is of a report. */
export interface FixContext {
  readonly release: string
  /** How the names of its objects begin. */
  readonly fullName: string
  readonly crewNamespace: string
  /** The database user of the platform. */
  readonly role: string
  /** Raises `invalid_request` where there is no kubeconfig. */
  readonly cluster: () => Promise<Cluster>
  /** Raises `invalid_request` where no login is given. */
  readonly database: (which: 'main' | 'traces') => Database
}

/** Plans the changes of a fix. Raises an `AppError` with the reason where there is none to make. */
export type Plan = (context: FixContext) => Promise<readonly Change[]>

/** The error of a plan that has no change to make. */
export const nothing = (reason: string): AppError => new AppError('precondition_failed', reason)

/** The error of a change that was planned for something that is different now. */
export const changedSince = (what: string): AppError =>
  new AppError('conflict', `${what} was changed meanwhile: look at it, then run this again.`)
