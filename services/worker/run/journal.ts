import type { Booking } from '../../platform/budgets/budget-booking.ts'
import type { PlannedCall } from '../../platform/budgets/budget-ledger.ts'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { isRepetition, isWithinCall } from '../../platform/crew-contract/step-key.ts'
import type { OtherEvent } from '../../platform/crew-contract/crew-event.ts'
import type {
  CrewEvent,
  LlmCallEvent,
  ToolCallEvent,
} from '../../platform/crew-contract/crew-protocol.ts'
import type { ProposedCall } from '../../platform/crew-contract/approval-request.ts'
import { LEASE_SECONDS } from '../../platform/runs/run-queue.ts'
import type { LeasedRun, ProgressEvent } from '../../platform/runs/run-queue.ts'
import { storeArtifacts, artifactName } from '../../platform/runs/run-artifacts.ts'
import { recordRequest } from '../../platform/runs/run-contents.ts'
import type { RequestPart, RequestRecord } from '../../platform/runs/run-contents.ts'
import type { JournalEntries, StepRecord } from '../../platform/runs/journal-entries.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Log } from '../../shared/log.ts'
import { endingOf } from './call-crew.ts'
import type { Ending } from './ending.ts'
import type { ProgressWriter } from './progress-writer.ts'
import { isRefused, retryStatement } from './retry-statement.ts'
import type { WrittenFile } from '../../platform/runs/run-artifacts.ts'

type ArtifactEvent = Extract<CrewEvent, { type: 'artifact' }>

/** Returns the files that events report. */
const artifactsOf = (events: readonly (CrewEvent | OtherEvent)[]): WrittenFile[] =>
  events.flatMap((event) => {
    if (event.type !== 'artifact') return []
    const { name, task, step, content } = event
    return [{ name: artifactName(name), task, step, content }]
  })

/** The part of a tool's arguments and result that the run's page shows. */
const TOOL_CHARACTERS_MAX = 4000

/** The record of an attempt in the database. */
export interface JournalWriter {
  /**
   * Commits the next events, after those of earlier calls, and books calls with them; returns what
   * was booked, if anything. Skips what the database refuses; raises when the database stays
   * unavailable for as long as the lease, and the reason of the signal. Returns false when the run
   * is no longer this worker's.
   */
  append(
    entry: JournalEntry,
    signal: AbortSignal,
  ): Promise<{ booking?: Booking | undefined } | false>
  /** Returns true once a step finished in this attempt. */
  advanced(): boolean
  /** Waits for the last commit, and returns the ending that was committed with it, if one was. */
  ended(): Promise<Ending | undefined>
}

/** Events, and the calls of models that begin with them, where budgets may apply. */
export interface JournalEntry {
  readonly events: readonly (CrewEvent | OtherEvent)[]
  readonly calls?: readonly PlannedCall[] | undefined
  /** A run that its crew completed ends in the same commit. */
  readonly endsRun?: boolean
}

interface JournalDeps {
  readonly progress: ProgressWriter
  readonly sql: Database
  readonly log: Log
}

/** Opens the journal of an attempt at a run. Nothing is stored once the lease is lost. */
export function openJournal({ progress, sql, log }: JournalDeps, run: LeasedRun): JournalWriter {
  const writer = progress.open(run)
  let position = 0
  let hasAdvanced = false
  const started = new Map<string, StepRecord>()
  const stored = new Set<string>()
  const storeFiles = openFileStore(sql, run)
  let ended: Ending | undefined
  let writing: Promise<unknown> = Promise.resolve()

  function toEntries(events: readonly (CrewEvent | OtherEvent)[]): JournalEntries {
    const steps = new Map<string, StepRecord>()
    const noted: JournalEntries['events'][number][] = []
    const parts: RequestPart[] = []
    for (const event of events) {
      const asked = requestOf(event, stored)
      if (asked) parts.push(...asked.parts)
      const step = toStep(event, started, asked)
      if (step) steps.set(step.key, step)
      hasAdvanced ||= step?.state === 'finished'
      const progress = event.type === 'artifact' ? announceArtifact(event) : toProgress(event, step)
      if (progress) noted.push({ position, event: progress })
      position += 1
    }
    return { events: noted, steps: [...steps.values()], parts }
  }

  return {
    advanced: () => hasAdvanced,
    async ended() {
      await writing.catch(() => {})
      return ended
    },
    async append({ events, calls, endsRun = false }, signal) {
      const completion = endsRun ? completionOf(events) : undefined
      const entries = { ...toEntries(events), calls, completion }
      if (entries.events.length === 0 && entries.steps.length === 0) return {}
      try {
        await storeFiles(events, signal)
        const written = writer.write(entries, signal)
        writing = written
        const { state, booking } = await written
        if (state !== 'written') return false
        ended = completion
        return { booking }
      } catch (thrown) {
        if (!isRefused(thrown)) throw thrown
        log.error({ err: toError(thrown), kickoff_id: run.id }, 'events could not be stored')
        return {}
      }
    },
  }
}

/** Stores files one after the other, before their events: who hears of a file can read it. */
function openFileStore(sql: Database, run: LeasedRun) {
  let storing: Promise<void> = Promise.resolve()
  return async (
    events: readonly (CrewEvent | OtherEvent)[],
    signal: AbortSignal,
  ): Promise<void> => {
    const files = artifactsOf(events)
    const patience = { forMs: LEASE_SECONDS * 1000, signal }
    const before = storing.catch(() => {})
    storing =
      files.length === 0
        ? before
        : before.then(() => retryStatement(() => storeArtifacts(sql, run, files), patience))
    return storing
  }
}

function completionOf(events: readonly (CrewEvent | OtherEvent)[]) {
  const ending = events.map(endingOf).find((each) => each !== undefined)
  return ending?.outcome === 'completed' ? ending : undefined
}

/** What a step asks, as it is stored. */
const requestOf = (event: CrewEvent | OtherEvent, stored: Set<string>): RequestRecord | undefined =>
  event.type === 'step_started' && event.request ? recordRequest(event.request, stored) : undefined

/** The step that an event is about, as it is now. */
function toStep(
  event: CrewEvent | OtherEvent,
  started: Map<string, StepRecord>,
  asked: RequestRecord | undefined,
): StepRecord | undefined {
  if (event.type === 'step_started') {
    const { step: key, kind, name, path, parent, input, at } = event
    const record = {
      key,
      kind,
      name,
      path,
      parent,
      input,
      request: asked && { sha256: asked.sha256, address: asked.address },
      state: 'started',
      startedAt: at,
    } as const
    started.set(key, record)
    return record
  }
  if (event.type !== 'step_finished' && event.type !== 'step_failed') return undefined
  const record = started.get(event.step)
  if (!record) return undefined
  started.delete(event.step)
  return event.type === 'step_failed'
    ? { ...record, state: 'failed', endedAt: event.at, error: event.error, usage: event.usage }
    : {
        ...record,
        state: 'finished',
        endedAt: event.at,
        usage: event.usage,
        result: event.result,
      }
}

/**
 * The event as the run's page and its callers see it. The conversation is in the trace, a result is
 * in its step; tasks and model calls have events of their own.
 */
function toProgress(
  event: CrewEvent | OtherEvent,
  step: StepRecord | undefined,
): ProgressEvent | undefined {
  if (event.type === 'other') return event.event
  // Nobody asked this crew for a replay.
  if (event.type === 'replay_answered' || event.type === 'replay_diverged') return undefined
  if (event.type === 'llm_call' || event.type === 'tool_call') return shortened(event)
  if (event.type === 'approval_requested' && event.call) return announceCall(event, event.call)
  if (event.type === 'step_started') {
    const { request: _request, ...progress } = event
    return isAnnounced(step) ? progress : undefined
  }
  return event.type === 'step_finished' || event.type === 'step_failed' ? ended(event, step) : event
}

/** The call that a person is asked about, as the run's page and its callers see it. */
const announceCall = (
  { output, ...event }: Extract<CrewEvent, { type: 'approval_requested' }>,
  { name, tool, question }: ProposedCall,
): ProgressEvent => ({
  ...event,
  output: excerpt(output, TOOL_CHARACTERS_MAX),
  call: { name, tool, ...(question && { question: { server: question.server } }) },
})

function ended(
  event: Extract<CrewEvent, { type: 'step_finished' | 'step_failed' }>,
  step: StepRecord | undefined,
): ProgressEvent | undefined {
  if (!step || !isAnnounced(step) || isMadeCall(event, step)) return undefined
  const { kind, name, startedAt, endedAt, error = failureIn(event) } = step
  const { type, seq, at } = event
  const times = { started_at: startedAt, ended_at: endedAt }
  return {
    type,
    seq,
    at,
    step: step.key,
    kind,
    name,
    ...times,
    ...(error === undefined ? {} : { error }),
  }
}

/** A try that another one follows finishes with its failure. */
function failureIn(event: CrewEvent): unknown {
  return event.type === 'step_finished' && isObject(event.result)
    ? event.result['failure']
    : undefined
}

function shortened(event: LlmCallEvent | ToolCallEvent): ProgressEvent {
  if (event.type === 'llm_call') {
    const { messages_in: _in, messages_out: _out, ...progress } = event
    return progress
  }
  const { arguments: given, result, ...progress } = event
  return {
    ...progress,
    arguments: excerpt(given, TOOL_CHARACTERS_MAX),
    ...(result === undefined ? {} : { result: excerpt(result, TOOL_CHARACTERS_MAX) }),
  }
}

/** A call of a tool that was made has an event of its own. */
const isMadeCall = (event: CrewEvent, { kind }: StepRecord): boolean =>
  event.type === 'step_finished' && kind === 'tool'

const isAnnounced = (step: StepRecord | undefined): boolean =>
  step !== undefined &&
  ((step.kind === 'tool' && !isWithinCall(step.path)) ||
    step.kind === 'approval' ||
    isRepetition(step.kind, step.path))

/** The event of a file as the run's page and its callers see it: the content has an address. */
function announceArtifact({ content, name, ...event }: ArtifactEvent): ProgressEvent {
  return { ...event, name: artifactName(name), characters: content.length }
}
