import { AppError } from '../../shared/errors.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { OwnCrewKey } from './crew-settings.ts'

/** The time in which a pull has to end: its worker is taken for lost then. */
const PULL_LEASE_SECONDS = 300
const FAILURE_MAX = 2000

/** Where the source of an automation is pulled from. */
export interface RepositoryPlace {
  readonly url: string
  /** A branch, a tag or a whole commit. */
  readonly ref: string
  /** The folder of the project; null: the whole repository. */
  readonly directory: string | null
}

/** The repository of an automation, without its secrets. */
export interface SourceRepository extends RepositoryPlace {
  readonly hasToken: boolean
  readonly hasWebhook: boolean
  /** Of the last pull that went well; null: none has. */
  readonly lastCommit: string | null
  readonly pulledAt: Date | null
  /** Why the last pull failed, and what to do; null: it did not. */
  readonly failure: string | null
  readonly failedAt: Date | null
  /** A worker is to pull it, or does. */
  readonly isPulling: boolean
}

/** A repository that a worker pulls. */
export interface TakenRepository extends RepositoryPlace, OwnCrewKey {
  readonly leaseId: string
  readonly sealedCredential: Buffer | null
  /** The user who asked for it; null: a token, or a webhook. */
  readonly pullAskedBy: number | null
}

/** Returns the repository of an automation, if it has one. */
export async function findRepository(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
): Promise<SourceRepository | undefined> {
  const [found] = await sql<SourceRepository[]>`
    select url, ref, directory, sealed_credential is not null as has_token,
      sealed_webhook_secret is not null as has_webhook, last_commit, pulled_at, failure, failed_at,
      pull_due_at is not null as is_pulling
    from source_repositories where deployment_id = ${deploymentId}`
  return found
}

/** Returns the repository of an automation. Raises `not_found`. */
export async function getRepository(sql: Queryable, key: OwnCrewKey): Promise<SourceRepository> {
  const found = await findRepository(sql, key)
  if (found) return found
  throw noRepository()
}

const noRepository = (): AppError =>
  new AppError('not_found', 'The automation has no Git repository. Save its address first.')

interface RepositoryChange extends RepositoryPlace {
  /** null: none; undefined: the one that is there, as long as the host is the same. */
  readonly sealedToken: Buffer | null | undefined
}

/**
 * Saves the repository of an automation; a pull that goes on comes to nothing. A token never goes
 * along to another host.
 */
export async function saveRepository(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
  { url, ref, directory, sealedToken }: RepositoryChange,
): Promise<void> {
  const before = await findRepository(sql, { deploymentId })
  const keeps = sealedToken === undefined && before?.hasToken && isSameOrigin(before.url, url)
  const token = sealedToken ?? null
  const kind = token && 'token'
  const credential = keeps ? sql`` : sql`, credential_kind = ${kind}, sealed_credential = ${token}`
  await sql`
    insert into source_repositories as r
      (deployment_id, url, ref, directory, credential_kind, sealed_credential)
    values (${deploymentId}, ${url}, ${ref}, ${directory}, ${kind}, ${token})
    on conflict (deployment_id) do update
    set url = ${url}, ref = ${ref}, directory = ${directory}, failure = null, failed_at = null,
      pull_due_at = null, lease_id = null, lease_until = null ${credential}`
}

/** The token of an address that is read in two ways may have been meant for either host. */
const isSameOrigin = (one: string, other: string): boolean =>
  addressProblem(one) === undefined && new URL(one).origin === new URL(other).origin

/** Removes the repository of an automation with its secrets. Raises `not_found`. */
export async function removeRepository(sql: Queryable, { deploymentId }: OwnCrewKey) {
  const { count } = await sql`
    delete from source_repositories where deployment_id = ${deploymentId}`
  if (count === 0) throw noRepository()
}

/** Has a worker pull a repository. Raises `not_found`. */
export async function askPull(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
  askedBy: number | null,
): Promise<void> {
  const { count } = await sql`
    update source_repositories set pull_due_at = now(), pull_asked_by = ${askedBy}
    where deployment_id = ${deploymentId}`
  if (count === 0) throw noRepository()
}

/** Sets the secret that a webhook signs with; null: there is no webhook. Raises `not_found`. */
export async function setWebhookSecret(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
  sealed: Buffer | null,
): Promise<void> {
  const { count } = await sql`
    update source_repositories set sealed_webhook_secret = ${sealed}
    where deployment_id = ${deploymentId}`
  if (count === 0) throw noRepository()
}

/** The webhook of a repository, as the database has it. */
export interface RepositoryWebhook extends OwnCrewKey {
  readonly ref: string
  readonly sealedWebhookSecret: Buffer
}

/** Returns the webhook of an automation's repository, if it has one. */
export async function findRepositoryWebhook(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
): Promise<RepositoryWebhook | undefined> {
  const [found] = await sql<RepositoryWebhook[]>`
    select deployment_id, ref, sealed_webhook_secret from source_repositories
    where deployment_id = ${deploymentId} and sealed_webhook_secret is not null`
  return found
}

const isPullDue = (sql: Queryable) => sql`
  pull_due_at <= now() and (lease_until is null or lease_until < now())`

/** The condition under which a worker has a repository to pull. */
export const hasDuePulls = (sql: Queryable) => sql`
  exists (select from source_repositories where ${isPullDue(sql)})`

/** Takes the repository that waits for longest to be pulled, if there is one. */
export async function takeRepository(sql: Queryable): Promise<TakenRepository | undefined> {
  const [taken] = await sql<TakenRepository[]>`
    update source_repositories set lease_id = gen_random_uuid(),
      lease_until = now() + make_interval(secs => ${PULL_LEASE_SECONDS})
    where deployment_id = (
      select deployment_id from source_repositories
      where ${isPullDue(sql)}
      order by pull_due_at limit 1 for update skip locked)
    returning deployment_id, url, ref, directory, lease_id, sealed_credential, pull_asked_by`
  return taken
}

type PullEnd = { readonly commit: string } | { readonly failure: string }

/**
 * Ends a pull, and records how; one that was asked for meanwhile is due still. Returns false when
 * the repository was changed since it was taken, or another worker pulls it.
 */
export async function endPull(
  sql: Queryable,
  { deploymentId, leaseId }: TakenRepository,
  end: PullEnd,
): Promise<boolean> {
  const outcome =
    'commit' in end
      ? sql`last_commit = ${end.commit}, pulled_at = now(), failure = null, failed_at = null`
      : sql`failure = ${end.failure.slice(0, FAILURE_MAX)}, failed_at = now()`
  const { count } = await sql`
    update source_repositories set ${outcome}, lease_id = null, lease_until = null,
      pull_due_at = case
        when pull_due_at > lease_until - make_interval(secs => ${PULL_LEASE_SECONDS})
        then pull_due_at end
    where deployment_id = ${deploymentId} and lease_id = ${leaseId}`
  return count === 1
}

/** Leaves a repository to another worker, which pulls it at once. */
export async function putBackPull(
  sql: Queryable,
  { deploymentId, leaseId }: TakenRepository,
): Promise<void> {
  await sql`
    update source_repositories set lease_id = null, lease_until = null, pull_due_at = now()
    where deployment_id = ${deploymentId} and lease_id = ${leaseId}`
}
