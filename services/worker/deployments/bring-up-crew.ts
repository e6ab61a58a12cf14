import { findLogEnd } from '../../platform/crews/crew-logs.ts'
import type { CrewDeployment } from '../../platform/crews/crew-deployments.ts'
import type { LeasedCrew } from '../../platform/crews/crew-leases.ts'
import { reportCrew } from '../../platform/crews/crew-reports.ts'
import type { CrewReport } from '../../platform/crews/crew-reports.ts'
import type { CrewWay } from '../../platform/crews/crew-settings.ts'
import { loadDeployedVariables } from '../../platform/crews/crew-variables.ts'
import type { VariableSeals } from '../../platform/crews/crew-variables.ts'
import { findSource, loadSource } from '../../platform/crews/sources.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { createCrewLogWriter } from './crew-log-writer.ts'
import type { CrewLogWriter } from './crew-log-writer.ts'
import type { CrewHost, CrewOutcome, CrewOwner, WantedCrew } from './crew-host.ts'

/** Longer than a host needs at the most to build a crew and to start it. */
const BRING_UP_MS = 30 * 60_000

/** The means to look after crews. */
export interface CrewDeps {
  readonly sql: Database
  readonly log: Log
  readonly host: CrewHost
  readonly seals: VariableSeals
  /** Returns the token that a crew asks of workers. */
  readonly tokenOf: (automationId: string) => string
  /** Called when a crew has failed. */
  readonly onFailed: () => void
}

/** A deployment as its host knows it, and its output on the way to the database. */
export interface PreparedCrew {
  readonly wanted: WantedCrew
  readonly output: CrewLogWriter
}

/** The automation of a crew. */
export const ownerOf = ({ automation }: LeasedCrew): CrewOwner => ({
  deploymentId: automation.id,
  automationId: automation.automationId,
  organizationId: automation.organizationId,
  slug: automation.slug,
})

/** Records what became of a deployment. Raises when somebody else decides about it by now. */
export async function report(
  { sql }: Pick<CrewDeps, 'sql'>,
  { lease, id }: { readonly lease: LeasedCrew; readonly id: number },
  change: CrewReport,
): Promise<void> {
  if (await reportCrew(sql, { lease, crewDeploymentId: id }, change)) return
  throw new Error('The deployment was replaced, or another worker looks after it.')
}

/** Returns what a host has to know of a deployment; or why it cannot run here. */
export async function prepareCrew(
  { sql, log, host, seals }: CrewDeps,
  crew: LeasedCrew,
  deployment: CrewDeployment,
): Promise<PreparedCrew | { readonly failure: string }> {
  const { id, number, sourceId, image, url } = deployment
  const { way: chosen, ...settings } = deployment.settings
  const way = chosen ?? host.ways[0]
  if (!host.ways.includes(way)) return { failure: noSuchWay(way, host.ways) }
  const found = await findSource(sql, sourceId)
  if (!found || found.filesDeletedAt !== null) return { failure: NO_FILES }
  const opened = await openVariables(sql, seals, deployment)
  if ('failure' in opened) return opened
  const source = {
    id: sourceId,
    digest: found.digest.toString('hex'),
    archiveSha256: found.archiveSha256.toString('hex'),
    read: () => loadSource(sql, sourceId),
  }
  const loggedUntil = await findLogEnd(sql, { crewDeploymentId: id, stream: 'crew' })
  const { variables, secrets } = opened
  const { replicas, restartedAt } = crew
  const about = { id, number, owner: ownerOf(crew), way, source, settings, variables }
  return {
    wanted: { ...about, replicas, restartedAt, image, url, loggedUntil },
    output: createCrewLogWriter({ sql, log, crewDeploymentId: id, secrets }),
  }
}

const NO_FILES = 'The files of its source are no longer kept. Send the source again.'

const noSuchWay = (way: CrewWay, ways: readonly CrewWay[]): string =>
  `Crews cannot run as "${way}" on this platform, which offers ${ways.join(' and ')}. Choose ` +
  'another way in the settings of the automation, or leave it open, and deploy it again.'

interface OpenedVariables {
  readonly variables: Readonly<Record<string, string>>
  /** The values among them that nobody may see. */
  readonly secrets: readonly string[]
}

async function openVariables(
  sql: Database,
  seals: VariableSeals,
  { id, deploymentId }: CrewDeployment,
): Promise<OpenedVariables | { readonly failure: string }> {
  const variables: Record<string, string> = {}
  const secrets: string[] = []
  for (const { name, value, sealedValue } of await loadDeployedVariables(sql, id)) {
    const secret = sealedValue === null ? null : seals.open(sealedValue, { deploymentId, name })
    if (secret === undefined) return { failure: unreadable(name) }
    variables[name] = secret ?? value ?? ''
    if (secret !== null) secrets.push(secret)
  }
  return { variables, secrets }
}

const unreadable = (name: string): string =>
  `The secret ${name} cannot be read with SECRET_KEY_BASE. Enter it anew in the environment of ` +
  'the automation, and deploy it again.'

interface BringingUp extends PreparedCrew {
  readonly signal: AbortSignal
  /** The deployment stays in its state meanwhile. */
  readonly isQuiet?: boolean
}

/** Has the host run a deployment, and records what the host does on the way. */
export async function bringUpCrew(
  deps: CrewDeps,
  crew: LeasedCrew,
  { wanted, output, signal, isQuiet }: BringingUp,
): Promise<CrewOutcome> {
  let recorded: Promise<unknown> = Promise.resolve()
  const progress = {
    log: output.write,
    state(state: 'Building' | 'Deploying') {
      if (isQuiet) return
      recorded = recorded
        .then(async () => {
          if (!signal.aborted) await report(deps, { lease: crew, id: wanted.id }, { state })
        })
        // The report of the end is the one that counts.
        .catch((thrown: unknown) => {
          deps.log.warn({ reason: toError(thrown).message }, 'the state of a crew is not recorded')
        })
    },
  }
  try {
    const limit = { name: 'The host of crews', timeoutMs: BRING_UP_MS, signal }
    return await deadline(limit, (stop) => deps.host.bringUp(wanted, progress, stop))
  } finally {
    await recorded
    await output.flush()
  }
}
