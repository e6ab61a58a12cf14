import type { PlannedCall } from '../budgets/budget-ledger.ts'
import { toCallRow } from '../budgets/budget-booking.ts'
import type { StepUsage } from '../crew-contract/crew-protocol.ts'
import type { Lease, ProgressEvent } from './run-queue.ts'
import type { RequestPart, RequestRecord } from './run-contents.ts'
import type { Failure, Usage } from './runs.ts'
import type { StepKind } from '../crew-contract/step-key.ts'

/** Longer results, in characters of JSON, are kept beside the row of their step. */
const RESULT_CHARACTERS_MAX = 65_536

/** What becomes of a step: one that only started is done again in a new attempt. */
export type StepState = 'started' | 'finished' | 'failed'

/** A step as a worker writes it; the same step again replaces the one before. */
export interface StepRecord {
  readonly key: string
  readonly kind: StepKind
  readonly name: string
  readonly path: readonly string[]
  readonly parent?: string | undefined
  readonly state: StepState
  readonly startedAt: string
  readonly endedAt?: string | undefined
  readonly input?: unknown
  readonly usage?: StepUsage | undefined
  readonly error?: Failure | undefined
  /** Of a call of a model or a tool. */
  readonly request?: Omit<RequestRecord, 'parts'> | undefined
  /** Set once it finished. */
  readonly result?: unknown
}

/** What a run that completed leaves behind. */
export interface Completion {
  readonly output: string
  readonly usage: Usage
}

/** What a worker writes at a time: events by their positions within the attempt, and steps. */
export interface JournalEntries {
  readonly events: readonly { readonly position: number; readonly event: ProgressEvent }[]
  /** Each key once. */
  readonly steps: readonly StepRecord[]
  /** Parts of requests of its steps that are not stored yet. @default none */
  readonly parts?: readonly RequestPart[]
  /** Set where budgets may apply: the calls of models that begin. Those that end are settled. */
  readonly calls?: readonly PlannedCall[] | undefined
  /** The run completes with them: nothing follows. */
  readonly completion?: Completion | undefined
}

interface EncodedStep {
  readonly state: StepState
  readonly hasPayload: boolean
  readonly json: string
}

/** Entries in the JSON that the database takes. */
export interface EncodedEntries {
  readonly events: readonly string[]
  readonly steps: ReadonlyMap<string, EncodedStep>
  readonly parts: readonly string[]
  /** Undefined: no budget is looked for. */
  readonly calls?: readonly string[] | undefined
  readonly completion?: string | undefined
  readonly characters: number
}

/** The entries of one run among those of others. */
export interface RunEntries {
  readonly lease: Lease
  readonly entries: EncodedEntries
}

/** Encodes what a worker writes. */
export function encodeEntries({ events, steps, parts = [], ...entries }: JournalEntries) {
  const written = events.map((each) => JSON.stringify(each))
  const rows = steps.map((step) => [step.key, encodeStep(step)] as const)
  const asked = parts.map((each) => JSON.stringify(each))
  const completion = entries.completion && JSON.stringify(entries.completion)
  const texts = [...written, ...asked, ...rows.map(([, { json }]) => json), completion ?? '']
  const characters = texts.reduce((sum, { length }) => sum + length, 0)
  const encoded = { events: written, steps: new Map(rows), parts: asked, characters }
  return { ...encoded, calls: entries.calls?.map(toCallRow), completion } satisfies EncodedEntries
}

/** Joins entries of one run, the oldest first: a step is as it was last, or finished. */
export function joinEntries(parts: readonly EncodedEntries[]): EncodedEntries {
  const [first, ...others] = parts
  if (first && others.length === 0) return first
  const steps = new Map(first?.steps)
  for (const part of others) {
    for (const [key, step] of part.steps) {
      if (steps.get(key)?.state !== 'finished') steps.set(key, step)
    }
  }
  const characters = parts.reduce((sum, part) => sum + part.characters, 0)
  const isBooked = parts.some(({ calls }) => calls !== undefined)
  const calls = isBooked ? parts.flatMap((part) => part.calls ?? []) : undefined
  const events = parts.flatMap((part) => part.events)
  const asked = parts.flatMap((part) => part.parts)
  const completion = parts.at(-1)?.completion
  return { events, steps, parts: asked, calls, completion, characters }
}

/**
 * Returns the lists of rows that one statement takes, as JSON, each row with the lease of its run,
 * and what is in them; no parts of requests where none are new, no calls where none has budgets.
 */
export function toParameters(runs: readonly RunEntries[]) {
  const owners: string[] = []
  const parts: string[] = []
  const events: string[] = []
  const steps: string[] = []
  const calls: string[] = []
  const ends: string[] = []
  const has = { hasPayload: false, advances: false }
  for (const { lease, entries } of runs) {
    const rows = [...entries.steps.values()]
    const { completion } = entries
    const isCounted = lease.lostAttempts > 0 && completion === undefined
    const advances = isCounted && rows.some(({ state }) => state === 'finished')
    has.advances ||= advances
    has.hasPayload ||= rows.some(({ hasPayload }) => hasPayload)
    owners.push(JSON.stringify({ run: lease.id, lease: lease.leaseId, advances }))
    const owner = `{"lease":"${lease.leaseId}"`
    if (completion !== undefined) ends.push(`${owner},${completion.slice(1)}`)
    for (const json of entries.events) events.push(`${owner},${json.slice(1)}`)
    for (const json of entries.parts) parts.push(`${owner},${json.slice(1)}`)
    for (const json of entries.calls ?? []) calls.push(`${owner},${json.slice(1)}`)
    rows.forEach(({ json }, at) => steps.push(`${owner},"line":${at + 1},${json.slice(1)}`))
  }
  const isBooked = runs.some(({ entries }) => entries.calls !== undefined)
  const lists = { owners: listOf(owners), events: listOf(events), steps: listOf(steps) }
  const some = { parts: listIfAny(parts), completed: listIfAny(ends) }
  return { ...lists, ...some, ...has, calls: isBooked ? listOf(calls) : undefined }
}

const listOf = (rows: readonly string[]): string => `[${rows.join(',')}]`
const listIfAny = (rows: readonly string[]) => (rows.length > 0 ? listOf(rows) : undefined)

/** What may hold any character goes as text: PostgreSQL would look into JSON within JSON. */
function encodeStep({
  startedAt,
  endedAt,
  input,
  result,
  request,
  ...step
}: StepRecord): EncodedStep {
  const { state } = step
  const text = state === 'finished' ? JSON.stringify(result ?? null) : undefined
  const hasPayload = text !== undefined && text.length > RESULT_CHARACTERS_MAX
  const row = {
    ...step,
    started_at: startedAt,
    ended_at: endedAt,
    input: input === undefined ? undefined : JSON.stringify(input),
    result: text,
    has_payload: hasPayload,
    request_sha256: request?.sha256,
    request: request?.address,
  }
  return { state, hasPayload, json: JSON.stringify(row) }
}
