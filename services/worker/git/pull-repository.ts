import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PLATFORM, writeAudit } from '../../platform/audit/audit.ts'
import { automationColumns } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { deploySource, listCrewDeployments } from '../../platform/crews/crew-deployments.ts'
import { findCrewSettings } from '../../platform/crews/crew-settings.ts'
import { storeArchive } from '../../platform/crews/source-archive/store-archive.ts'
import { endPull, putBackPull } from '../../platform/crews/source-repositories.ts'
import type { TakenRepository } from '../../platform/crews/source-repositories.ts'
import type { RepositorySeals } from '../../platform/crews/source-repository-seals.ts'
import { forgetSources } from '../../platform/crews/sources.ts'
import type { Source } from '../../platform/crews/sources.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { fetchRepository } from './fetch-repository.ts'
import type { FetchedCommit, GitPrograms } from './fetch-repository.ts'

/** Shorter than the lease of a pull, with time to store what was fetched. */
const FETCH_MS = 180_000

interface PullDeps {
  readonly sql: Database
  readonly log: Log
  readonly seals: RepositorySeals
  readonly guard: OutgoingGuard
  readonly programs: GitPrograms
  /** The room of an organization's sources and images. */
  readonly quotaBytes: number
}

/**
 * Pulls a repository and deploys what is new in it. What goes wrong is recorded with it, in words
 * for whoever reads its page.
 */
export async function pullRepository(
  deps: PullDeps,
  taken: TakenRepository,
  signal: AbortSignal,
): Promise<void> {
  const { sql, log } = deps
  try {
    await pull(deps, taken, signal)
  } catch (thrown) {
    if (signal.aborted) return putBackPull(sql, taken)
    const failure = thrown instanceof AppError ? thrown.message : UNKNOWN
    const reason = toError(thrown).message
    log.warn({ deployment_id: taken.deploymentId, reason }, 'a repository could not be pulled')
    await endPull(sql, taken, { failure })
  }
}

const UNKNOWN =
  'The repository could not be pulled for a reason that is in the log of the worker. Pull it ' +
  'again, or ask the operator.'

async function pull(deps: PullDeps, taken: TakenRepository, signal: AbortSignal): Promise<void> {
  const { sql } = deps
  const directory = await mkdtemp(join(tmpdir(), 'pull-'))
  try {
    const automation = await readAutomation(sql, taken)
    const subject = String(automation.organizationId)
    const url = readAddress(taken.url, 'The address of the repository')
    const limit = { name: `Git at ${url.host}`, timeoutMs: FETCH_MS, signal }
    const token = openToken(deps.seals, taken)
    const rest = { guard: deps.guard, programs: deps.programs, directory }
    const fetched = await deadline(limit, (stop) =>
      fetchRepository({ url, place: taken, token, ...rest, subject, signal: stop }),
    )
    const source = await store(deps, automation, { taken, fetched })
    await deployNew(sql, automation, { taken, source, commit: fetched.commit })
    await forgetSources(sql, automation.organizationId)
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function readAutomation(
  sql: Database,
  { deploymentId }: TakenRepository,
): Promise<Automation> {
  const [automation] = await sql<[Automation]>`
    select ${automationColumns(sql)} from deployments where id = ${deploymentId}`
  return automation
}

function openToken(
  seals: RepositorySeals,
  { deploymentId, sealedCredential }: TakenRepository,
): string | undefined {
  if (sealedCredential === null) return undefined
  const token = seals.open(sealedCredential, { deploymentId, kind: 'credential' })
  if (token !== undefined) return token
  throw new AppError(
    'unprocessable',
    'The access token cannot be read with SECRET_KEY_BASE. Save it anew, and pull again.',
  )
}

interface Pulled {
  readonly taken: TakenRepository
  readonly fetched: FetchedCommit
}

async function store(
  { sql, quotaBytes }: PullDeps,
  { id, organizationId }: Automation,
  { taken, fetched }: Pulled,
): Promise<Source> {
  const { url, ref, directory, pullAskedBy: uploadedBy } = taken
  const settings = await findCrewSettings(sql, id)
  const { commit, archivePath } = fetched
  return storeArchive(sql, archivePath, {
    organizationId,
    uploadedBy,
    name: nameOf(url),
    directory,
    entrypoint: settings?.entrypoint,
    quotaBytes,
    git: { url, ref, commit },
  })
}

/** The last part of the address, as people name repositories. */
const nameOf = (url: string): string => {
  const parts = new URL(url).pathname.split('/').filter(Boolean)
  return (parts.at(-1) ?? 'repository').replace(/\.git$/, '').slice(0, 255) || 'repository'
}

interface Deploying {
  readonly taken: TakenRepository
  readonly source: Source
  readonly commit: string
}

/** The commit that is deployed already is not deployed again. */
const deployNew = (
  sql: Database,
  automation: Automation,
  { taken, source, commit }: Deploying,
): Promise<void> =>
  sql.begin(async (tx) => {
    if (!(await endPull(tx, taken, { commit }))) return
    const { deploymentId, pullAskedBy: createdBy } = taken
    const [newest] = await listCrewDeployments(tx, { deploymentId }, { limit: 1 })
    if (newest?.sourceId === source.id) return
    await deploySource(tx, { deploymentId, createdBy }, source.id)
    const { automationId, organizationId, name } = automation
    await writeAudit(tx, PLATFORM, {
      action: 'crew_deployed',
      target: { kind: 'automation', id: automationId, name },
      organizationId,
      after: { source: source.digest.toString('hex'), git_commit: commit },
    })
  })
