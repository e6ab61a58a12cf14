import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { CrewEnvironmentDeps } from '../crew-environment.ts'
import type {
  CrewHost,
  CrewOutcome,
  CrewProgress,
  SeenCrew,
  WantedCrew,
  CrewOwner,
} from '../crew-host.ts'
import { buildCrew, createBuildLine } from './build-crew.ts'
import type { BuildDeps, BuildLine } from './build-crew.ts'
import { createCrewDirectories } from './crew-directories.ts'
import type { CrewDirectories, CrewFolders } from './crew-directories.ts'
import { startCrewProcess } from './crew-process.ts'
import type { CrewProcess } from './crew-process.ts'
import { describeStart, readyProgram } from './crew-program.ts'
import { endOrphans } from './orphans.ts'

/** The time that a crew has to take its first run, with all that it imports. */
const START_MS = 120_000
/** The time that a crew which is told to stop has for its runs. */
const DRAIN_SECONDS = 20
/** For what a crew does after its time to drain. */
const END_MS = 5000
/** The platform itself stops: its runs go on at the next start. */
const STOP_MS = 3000

/** What a host of processes works with. */
export interface ProcessHostDeps extends BuildDeps, Omit<CrewEnvironmentDeps, 'drainSeconds'> {
  /** The folder that has all crews; only this process may use it. */
  readonly root: string
  readonly log: Log
  /** @default 120_000 */
  readonly startMs?: number
}

/**
 * Runs crews as processes of this machine, each in an environment of its own. They end with this
 * process; those that an earlier one left behind are ended first. They are kept apart from each
 * other as programs of one user are, and no more than that: this is for trying things out.
 */
export function createProcessHost(deps: ProcessHostDeps): CrewHost {
  const { root, log } = deps
  const directories = createCrewDirectories(root)
  const table = createProcessTable(log, DRAIN_SECONDS * 1000 + END_MS)
  const builds = createBuildLine()
  const ready = endOrphans(root).then((count) => {
    if (count > 0) log.warn({ count }, 'crews that were left behind have been ended')
  })
  return {
    ways: ['process'],
    async bringUp(crew, progress, signal) {
      await ready
      const present = table.find(crew.id)
      const isGood = present && isNewer(present, crew) && !(await present.findTrouble(signal))
      if (isGood) return { outcome: 'online', url: present.url }
      const folders = await directories.open(crew)
      const starting = { folders, progress, signal }
      const outcome = await begin({ deps, table, directories, builds }, crew, starting).catch(
        async (thrown: unknown) => {
          await folders.release()
          throw thrown
        },
      )
      if (outcome.outcome === 'failed') await folders.release()
      return outcome
    },
    look: (crew, _progress, signal) => look(table.find(crew.id), crew, signal),
    async keepOnly(owner, ids) {
      // They may drain for long; nobody has to wait for that.
      table
        .endOthers(owner, ids)
        .then(() => directories.tidy(owner))
        .catch((thrown: unknown) => log.warn({ reason: toError(thrown).message }, 'not tidied'))
    },
    // There are none.
    keepImages: () => Promise.resolve(0),
    freeImages: () => Promise.resolve(),
    async remove(owner) {
      await table.endOthers(owner, [])
      await directories.remove(owner)
    },
    async stop() {
      await ready.catch(() => {})
      await table.endAll(STOP_MS)
    },
  }
}

interface Parts {
  readonly deps: ProcessHostDeps
  readonly table: ProcessTable
  readonly directories: CrewDirectories
  readonly builds: BuildLine
}

interface Starting {
  readonly folders: CrewFolders
  readonly progress: CrewProgress
  readonly signal: AbortSignal
}

/** Builds a crew and starts it. What it has in its folders is of no use unless it is online. */
async function begin(parts: Parts, crew: WantedCrew, starting: Starting): Promise<CrewOutcome> {
  const { deps, table, directories, builds } = parts
  const { folders, progress, signal } = starting
  const { startMs = START_MS } = deps
  progress.state('Building')
  const built = await builds(() => buildCrew(deps, crew, { directories, ...starting }))
  if ('failure' in built) {
    return { outcome: 'failed', reason: built.failure, lastLines: built.lastLines }
  }
  progress.state('Deploying')
  const environment = { ...deps, drainSeconds: DRAIN_SECONDS }
  const place = { folders, python: built.python, progress }
  const program = await readyProgram(environment, crew, place)
  if ('failure' in program) return { outcome: 'failed', reason: program.failure }
  const process = startCrewProcess(program)
  const started = await process.waitUntilHealthy(startMs, signal).catch(async (thrown: unknown) => {
    await table.end(process, 0)
    throw thrown
  })
  if (started.outcome !== 'healthy') {
    await table.end(process, 0)
    return { outcome: 'failed', ...describeStart(started, { ...program, startMs }) }
  }
  table.put(crew, process)
  process.keep()
  return { outcome: 'online', url: process.url }
}

async function look(
  process: CrewProcess | undefined,
  crew: WantedCrew,
  signal: AbortSignal,
): Promise<SeenCrew> {
  if (!process) return { condition: 'drifted', reason: 'It does not run.', isServing: false }
  if (!isNewer(process, crew)) {
    return { condition: 'drifted', reason: 'It is to be restarted.', isServing: true }
  }
  const reason = await process.findTrouble(signal)
  if (reason !== undefined) return { condition: 'down', reason }
  return { condition: 'online', url: process.url }
}

const isNewer = ({ startedAt }: CrewProcess, { restartedAt }: WantedCrew): boolean =>
  restartedAt === null || startedAt > restartedAt

/** The processes of crews, by their deployments. */
interface ProcessTable {
  readonly find: (id: number) => CrewProcess | undefined
  /** Lets a process run for a deployment; the one that did so drains. */
  put(crew: { readonly id: number; readonly owner: CrewOwner }, process: CrewProcess): void
  /** Ends an automation's processes but for those of some deployments, when they have drained. */
  endOthers(owner: CrewOwner, kept: readonly number[]): Promise<void>
  /** Ends a process that is in no table, or all of them. */
  end(process: CrewProcess, graceMs: number): Promise<void>
  endAll(graceMs: number): Promise<void>
}

/** Creates a table whose processes have `drainMs` to end when others take their places. */
function createProcessTable(log: Log, drainMs: number): ProcessTable {
  const running = new Map<number, { readonly owner: CrewOwner; readonly process: CrewProcess }>()
  const ending = new Map<CrewProcess, Promise<void>>()

  function end(process: CrewProcess, graceMs: number): Promise<void> {
    const ended = process
      .end(graceMs)
      .catch((thrown: unknown) =>
        log.warn({ reason: toError(thrown).message }, 'a crew keeps running'),
      )
      .finally(() => ending.delete(process))
    ending.set(process, ended)
    return ended
  }

  return {
    find: (id) => running.get(id)?.process,
    put({ id, owner }, process) {
      const former = running.get(id)
      running.set(id, { owner, process })
      if (former) void end(former.process, drainMs)
    },
    async endOthers({ deploymentId }, kept) {
      const others = [...running].filter(
        ([id, { owner }]) => owner.deploymentId === deploymentId && !kept.includes(id),
      )
      for (const [id] of others) running.delete(id)
      await Promise.all(others.map(([, { process }]) => end(process, drainMs)))
    },
    end,
    async endAll(graceMs) {
      const all = [...[...running.values()].map(({ process }) => process), ...ending.keys()]
      running.clear()
      await Promise.all(all.map((process) => end(process, graceMs)))
    },
  }
}
