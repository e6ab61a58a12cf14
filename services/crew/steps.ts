import * as v from 'valibot'
import type {
  CrewEvent,
  CrewFailure,
  RecordedStep,
  StepUsage,
  TextDelta,
} from '../platform/crew-contract/crew-protocol.ts'
import type { ApprovalRequest } from '../platform/crew-contract/approval-request.ts'
import { idempotencyKeyOf, stepKey } from '../platform/crew-contract/step-key.ts'
import type { RunRequest } from '../platform/runs/called-runs.ts'
import type { RunFailure } from '../platform/runs/run-errors.ts'
import type { StepRequest } from '../platform/crew-contract/step-request.ts'
import type { StepKind } from '../platform/crew-contract/step-key.ts'
import { AppError } from '../shared/errors.ts'
import { pause } from '../shared/pause.ts'
import { trackOpenSteps } from './open-steps.ts'
import type { OpenStep } from './open-steps.ts'
import { reportText } from './text-deltas.ts'
import type { TextReport, TextWish } from './text-deltas.ts'

/** The longest result of a step, as JSON; a worker reads no longer lines. */
export const RESULT_CHARACTERS_MAX = 6_000_000

/** The longest request of a step that is kept, as JSON. */
const REQUEST_CHARACTERS_MAX = 2_000_000

const CANNOT_WAIT: RunFailure = {
  code: 'approval_unsupported',
  message: 'The worker cannot let a run wait. Update the workers.',
}

/** What a step is, and its place in the run. */
export interface Step<Result> {
  readonly kind: StepKind
  /**
   * Keys that lead to the step, the same in each attempt, such as
   * `['research', 'researcher', 'search', '0']`: task, agent, tool, iteration. The step belongs to
   * the open step with the longest path that this one begins with.
   */
  readonly path: readonly string[]
  /** For people: the key of the task, the name of the model or of the tool. */
  readonly name: string
  /** For people: the arguments of a tool, the question of an approval. Never a secret. */
  readonly input?: unknown
  /** All that a model, a tool or a person is asked: a replay finds the answer by it. */
  readonly request?: StepRequest | undefined
  /** Of a call of a model: the tokens that it may use at the most. */
  readonly estimate?: StepUsage
  /** A recorded result of another shape, from an older crew, counts as none. */
  readonly schema?: v.GenericSchema<unknown, Result>
}

/** The means of an act. */
export interface ActContext {
  /** Aborts when the run is over for this crew: the worker is gone, or somebody stopped it. */
  readonly signal: AbortSignal
  /** The key of the step, for the events that are about it. */
  readonly step: string
  /** The key of the step that it is a part of. */
  readonly parent: string | undefined
  /** The same in each attempt: sent to whoever acts, it makes a repeated act no second one. */
  readonly idempotencyKey: string
  /** Adds tokens to this step, and to those that it is a part of. */
  readonly use: (usage: StepUsage) => void
}

/** What a run waits for: a person, or a run of another automation. */
type Asked =
  | ({ readonly type: 'approval_requested' } & ApprovalRequest)
  | ({ readonly type: 'run_requested' } & RunRequest)

/** The steps of one attempt at a run: the only way to act. */
export interface Steps {
  /**
   * Returns the recorded result of a step that finished in a former attempt; otherwise records that
   * the step starts, acts, and records the result, which has to be JSON. What an act raises is
   * recorded as the step's failure and raised; such a step is done again in a new attempt, so a
   * failure that a model gets to see is a result. Raises also the reason of the signal, and
   * something else when the run is handed over: let both pass.
   */
  perform<Result>(
    step: Step<Result>,
    act: (context: ActContext) => Promise<Result>,
  ): Promise<Result>
  /** Returns true for a step that finished in a former attempt. */
  isRecorded(path: readonly string[]): boolean
  /** These steps, whose acts also end when a limit aborts; its reason fails what goes on. */
  within(limit: AbortSignal): Steps
  /** Waits. Raises as `perform` does when the run is over or to be handed over. */
  wait(ms: number): Promise<void>
  /** Reports an event. It is kept in its order, and nobody waits for that. */
  report(event: CrewEvent): void
  /** Opens a report of the text of an answer; undefined while nobody follows what models write. */
  reportText(facts: Pick<TextDelta, 'step' | 'task' | 'agent'>): TextReport | undefined
  /** The tokens that all steps used, those of former attempts included. */
  usage(): StepUsage
  /**
   * Ends the attempt in the act of a step: a person or a run is asked, and a new attempt finds the
   * answer as the step's result. Raises a failure where no journal is kept.
   */
  park(asked: Asked): never
  /** Returns what is asked, for what `park` raised; undefined for anything else. */
  askedBy(thrown: unknown): Asked | undefined
  /** Lets no further step begin: those that go on end, and the others raise a hand-over. */
  halt(): void
  /** Returns true for what `perform` raises when the run is to be handed over. */
  isHandOver(thrown: unknown): boolean
  /** Waits until no act goes on. */
  settle(): Promise<void>
}

/** Takes the events of an attempt to its worker. */
export interface Channel {
  /** Writes an event, and returns its number. */
  write(event: CrewEvent): number
  /** Writes a part of a text, which nobody keeps. */
  tell(delta: TextDelta): void
  /** Waits until the worker has committed an event; raises the reason of the run's signal. */
  committed(seq: number): Promise<void>
}

/** The beginnings of an attempt. */
interface StepsOptions {
  readonly runId: string
  /** As `stepBase` makes it. */
  readonly base: string
  readonly journal: readonly RecordedStep[]
  /** False: the worker takes no steps, and none are written. */
  readonly isJournaled: boolean
  readonly channel: Channel
  /** @default nobody follows what models write */
  readonly text?: TextWish
  readonly signal: AbortSignal
  /** Aborts when the run is to be handed over after the acts that go on. */
  readonly stopping: AbortSignal
}

/** Begins the steps of an attempt at a run. */
export function createSteps(options: StepsOptions): Steps {
  const { base, channel, text = { isWanted: false } } = options
  const recorded = new Map(options.journal.map((each) => [each.step, each]))
  const performed = new Set<string>()
  const open = trackOpenSteps()
  const handOver = new Error('the run is handed over')
  const parked = new Map<unknown, Asked>()
  const halting = new AbortController()
  const stopping = AbortSignal.any([options.stopping, halting.signal])
  const performer = createPerformer({ ...options, stopping, open, handOver, parked })
  const steps: Steps = {
    async perform(step, act) {
      const key = stepKey(base, step.path)
      if (performed.has(key)) throw new Error(`the step ${step.path.join('/')} is done twice`)
      performed.add(key)
      const known = recall(recorded.get(key), step.schema)
      if (!known) return performer(step, key, act)
      if (known.usage) open.use(step.path, known.usage)
      return known.result
    },
    isRecorded: (path) => recorded.has(stepKey(base, path)),
    within: (limit) => limitSteps(steps, limit),
    async wait(ms) {
      await pause(AbortSignal.any([options.signal, stopping]), ms)
      options.signal.throwIfAborted()
      if (stopping.aborted) throw handOver
    },
    report: (event) => void channel.write(event),
    reportText: (facts) =>
      text.isWanted ? reportText((delta) => channel.tell(delta), facts) : undefined,
    usage: () => open.usage(),
    park(request) {
      if (!options.isJournaled) throw stepFailure(CANNOT_WAIT)
      const thrown = new Error('the run waits')
      parked.set(thrown, request)
      throw thrown
    },
    askedBy: (thrown) => parked.get(thrown),
    halt: () => halting.abort(),
    isHandOver: (thrown) => thrown === handOver,
    settle: () => open.settle(),
  }
  return steps
}

/** What begins too late fails as a step, so that a replay finds in the record where that was. */
const limitSteps = (steps: Steps, limit: AbortSignal): Steps => ({
  ...steps,
  perform: (step, act) =>
    steps.perform(step, async (context) => {
      limit.throwIfAborted()
      return act({ ...context, signal: AbortSignal.any([context.signal, limit]) })
    }),
})

interface Performer extends StepsOptions {
  readonly open: ReturnType<typeof trackOpenSteps>
  readonly handOver: Error
  readonly parked: ReadonlyMap<unknown, Asked>
}

function createPerformer({ open, handOver, parked, ...options }: Performer) {
  const { runId, channel, signal, stopping, isJournaled } = options

  function record(event: CrewEvent): number | undefined {
    return isJournaled ? channel.write(event) : undefined
  }

  function refuseToStart(): void {
    signal.throwIfAborted()
    if (stopping.aborted) throw handOver
  }

  function recordFailure({ key, usage }: OpenStep, thrown: unknown): void {
    if (signal.aborted || thrown === handOver || parked.has(thrown)) return
    const isPaid = usage.input_tokens + usage.output_tokens > 0
    const failed = { step: key, error: failureOf(thrown), ...(isPaid && { usage }) }
    record({ type: 'step_failed', at: now(), ...failed })
  }

  return async function performStep<Result>(
    { kind, path, name, input, request, estimate }: Step<Result>,
    key: string,
    act: (context: ActContext) => Promise<Result>,
  ): Promise<Result> {
    refuseToStart()
    const place = { path: [...path], parent: open.parentOf(path) }
    const facts = { step: key, kind, name, ...place, input, request: kept(request), estimate }
    const self = open.enter(key, path)
    try {
      const seq = record({ type: 'step_started', at: now(), ...facts })
      // What a task does waits for starts of its own, which come after the task's.
      if (seq !== undefined && kind !== 'task') await channel.committed(seq)
      refuseToStart()
      const idempotencyKey = idempotencyKeyOf(runId, key)
      const use = (usage: StepUsage): void => open.use(path, usage)
      const result = await act({ signal, step: key, parent: facts.parent, idempotencyKey, use })
      refuseHugeResult(name, result)
      const { usage } = self
      const finished = { step: key, result: result ?? null, usage }
      // Events are committed in their order: the next step waits for this one by its own start.
      record({ type: 'step_finished', at: now(), ...finished })
      return result
    } catch (thrown) {
      recordFailure(self, thrown)
      throw thrown
    } finally {
      open.leave(self)
    }
  }
}

const now = (): string => new Date().toISOString()

/** A longer request is not kept, as if it had not been told. */
const kept = (request: StepRequest | undefined): StepRequest | undefined =>
  JSON.stringify(request ?? null).length > REQUEST_CHARACTERS_MAX ? undefined : request

function recall<Result>(
  known: RecordedStep | undefined,
  schema: v.GenericSchema<unknown, Result> | undefined,
): { result: Result; usage?: StepUsage | undefined } | undefined {
  if (!known) return undefined
  // Without a schema: the same path of the same version gave it, through JSON.
  if (!schema) return { result: known.result as Result, usage: known.usage }
  const read = v.safeParse(schema, known.result)
  return read.success ? { result: read.output, usage: known.usage } : undefined
}

function refuseHugeResult(name: string, result: unknown): void {
  const characters = JSON.stringify(result ?? null).length
  if (characters <= RESULT_CHARACTERS_MAX) return
  throw stepFailure({
    code: 'result_too_large',
    message:
      `The result of ${name} has ${characters} characters as JSON; the most is ` +
      `${RESULT_CHARACTERS_MAX}. Let it return less.`,
  })
}

/** Makes the error that fails a step, and the run unless somebody catches it. */
export function stepFailure({ code, message }: RunFailure): AppError {
  return new AppError('unprocessable', message, { details: { failure: code } })
}

/** Returns the failure that was raised; anything unforeseen is `internal` and says nothing. */
export function failureOf(thrown: unknown): CrewFailure {
  if (!(thrown instanceof AppError)) {
    const message = 'Something went wrong inside the crew; its log has the details.'
    return { code: 'internal', message }
  }
  const { failure } = thrown.details
  return { code: typeof failure === 'string' ? failure : thrown.code, message: thrown.message }
}
