import { connectedTools } from '../../platform/connections/tool-connections.ts'
import type {
  JournaledKickoff,
  RecordedAnswer,
} from '../../platform/crew-contract/crew-protocol.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import { finishReplay, putBackReplay, retryReplay } from '../../platform/replays/replay-queue.ts'
import type { ReplayResult, TakenReplay } from '../../platform/replays/replay-queue.ts'
import { loadRecord } from '../../platform/replays/run-record.ts'
import type { RecordedRun } from '../../platform/replays/run-record.ts'
import { crewTokens } from '../../shared/crew-token.ts'
import type { SecretKeys } from '../../shared/crew-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { KeptConnections } from '../../shared/http/post-lines.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { callCrew } from '../run/call-crew.ts'
import type { Ending } from '../run/ending.ts'
import type { HandFiles } from '../run/hand-files.ts'
import type { LoopSignals } from '../run/loop.ts'
import { hasFiles } from '../run/perform-run.ts'
import { resolveModels } from '../run/resolve-models.ts'
import type { ModelDeps } from '../run/resolve-models.ts'
import { openAsking } from './asking.ts'
import type { Asking } from './asking.ts'
import { judge, openVerdict } from './judge.ts'
import type { Heard } from './judge.ts'

/** Shorter than the lease. */
const REPLAY_MS = { offline: 120_000, live: 600_000 }
const ASLEEP_DELAY_SECONDS = 3
const NOT_DEPLOYED =
  'The version is not deployed any more, and no crew of it is there. Deploy its source again.'
const DEPENDS =
  'The version is the same: what it asks depends on more than its inputs, such as the time or a ' +
  'random number, or its crew was updated. Let a tool say what changes: the record has its answer.'
/** How often a run is tried whose crew or worker is lost. */
const ATTEMPTS_MAX = 3

/** The means by which a worker performs runs again. */
export interface ReplayDeps extends SecretKeys, ModelDeps {
  readonly sql: Database
  readonly log: Log
  readonly prices: readonly Price[]
  readonly handFiles: HandFiles
  readonly crewPatienceMs: number
  /** @default each replay has a connection of its own to its crew */
  readonly pool?: KeptConnections
}

/**
 * Performs a run again with the crew that would run the version, and stores what was found. The
 * crew gets no token of a tool, and in a live replay alone the keys of models. Never raises for
 * what the run or its crew is.
 */
export async function performReplay(
  deps: ReplayDeps,
  taken: TakenReplay,
  signals: LoopSignals,
): Promise<void> {
  const { sql } = deps
  const found = await replay(deps, taken, signals)
  if ('state' in found) return finishReplay(sql, taken, found)
  if ('delaySeconds' in found) return putBackReplay(sql, taken, found.delaySeconds)
  if (taken.attempt < ATTEMPTS_MAX) return retryReplay(sql, taken)
  return finishReplay(sql, taken, impossible(found.broken))
}

type Found = ReplayResult | { readonly delaySeconds: number } | { readonly broken: string }

const impossible = (reason: string): ReplayResult => ({ state: 'impossible', reason })

async function replay(deps: ReplayDeps, taken: TakenReplay, signals: LoopSignals): Promise<Found> {
  if (taken.attempt > ATTEMPTS_MAX) return impossible('Its workers were lost each time.')
  if (taken.url === null) return impossible('The crew of its automation has no address.')
  const isOwn = isOwnCrew(taken.definition)
  if (isOwn && taken.versionId !== taken.runsVersionId) return impossible(NOT_DEPLOYED)
  if (isOwn && taken.isAsleep) return { delaySeconds: ASLEEP_DELAY_SECONDS }
  const record = await loadRecord(deps.sql, taken.runId)
  if ('why' in record) return impossible(record.why)
  const asking = taken.mode === 'live' ? openAsking(deps, taken) : undefined
  const found = await follow(deps, { taken, record, asking }, signals)
  const asked = asking?.asked()
  return asked && 'state' in found ? { ...found, asked } : found
}

interface Followed {
  readonly taken: TakenReplay
  readonly record: RecordedRun
  /** Of a live one. */
  readonly asking: Asking | undefined
}

async function follow(
  deps: ReplayDeps,
  { taken, record, asking }: Followed,
  signals: LoopSignals,
): Promise<Found> {
  const heard = openVerdict()
  const timeoutMs = REPLAY_MS[taken.mode]
  const limit = { name: 'The replay', timeoutMs, signal: signals.drain }
  try {
    const models = await modelsFor(deps, taken)
    if ('failure' in models) return impossible(models.failure)
    const ending = await deadline(limit, (signal) =>
      callCrew({
        ...surroundings(deps, taken, signals),
        url: taken.url ?? '',
        request: { ...kickoffOf(taken, record), ...models },
        signal,
        async onEvents(events) {
          for (const event of events) heard.hear(event)
          return asking?.follow(events)
        },
      }),
    )
    const found = conclude(record, ending, { heard: heard.heard, why: asking?.refusal() })
    return taken.versionId === record.versionId ? withAdvice(found) : found
  } catch (thrown) {
    if (signals.drain.aborted) return { delaySeconds: 0 }
    if (thrown instanceof AppError && thrown.code === 'timeout') {
      return impossible(`It took longer than ${timeoutMs / 1000} s.`)
    }
    deps.log.error({ err: toError(thrown), kickoff_id: taken.runId }, 'a replay failed')
    return { broken: 'The worker failed. Its log has the details.' }
  }
}

/** A step that differs though the version is the same. */
function withAdvice(found: Found): Found {
  if (!('state' in found) || found.state !== 'different' || !found.step) return found
  return { ...found, reason: `${found.reason ?? ''} ${DEPENDS}` }
}

/**
 * Returns what a crew has to know of models: all of it where they may be asked, and else for crews
 * from a source, which choose them by name, all but the keys.
 */
async function modelsFor(
  deps: ReplayDeps,
  taken: TakenReplay,
): Promise<{ readonly failure: string } | Pick<JournaledKickoff, 'models'>> {
  if (taken.mode === 'offline' && !isOwnCrew(taken.definition)) return {}
  const resolved = await resolveModels(deps, taken)
  if ('failure' in resolved) return { failure: resolved.failure.message }
  const { models } = resolved
  if (!models || taken.mode === 'live') return models ? { models } : {}
  const named = Object.entries(models).map(([name, { api_key: _key, ...where }]) => [name, where])
  return { models: Object.fromEntries(named) as typeof models }
}

const surroundings = (deps: ReplayDeps, taken: TakenReplay, { pause }: LoopSignals) => ({
  tokens: crewTokens(deps, taken.crewAutomationId),
  withFiles: hasFiles(taken)
    ? <Result>(use: Parameters<typeof deps.handFiles<Result>>[1]) => deps.handFiles(taken, use)
    : undefined,
  patienceMs: deps.crewPatienceMs,
  pool: deps.pool,
  pause,
})

/** What it would be sent, but for keys and tokens. */
function kickoffOf(
  { runId, definition, versionId, mode }: TakenReplay,
  { inputs, answers }: RecordedRun,
) {
  const names = connectedTools(definition.tools).map(({ connection }) => connection)
  const connections = Object.fromEntries(names.map((name) => [name, { access_token: '' }]))
  const replayed: { answers: RecordedAnswer[] } = { answers: [...answers] }
  const replay = mode === 'live' ? { ...replayed, live: true } : replayed
  const run = { kickoff_id: runId, inputs, definition, version: versionId, connections }
  return { ...run, journal: [], replay }
}

interface Listened {
  readonly heard: Heard
  /** Why the worker ended it. */
  readonly why: string | undefined
}

function conclude(record: RecordedRun, ending: Ending, { heard, why }: Listened): Found {
  if (ending.outcome === 'completed') return judge(record, ending, { heard })
  if (ending.outcome === 'released') {
    const { delaySeconds } = ending
    return why === undefined ? { delaySeconds } : judge(record, ending, { heard, why })
  }
  if (ending.outcome !== 'error') {
    return { broken: 'failure' in ending ? ending.failure.message : 'It waited for a person.' }
  }
  return heard.isFailed ? judge(record, ending, { heard }) : impossible(ending.failure.message)
}
