import type { Progress } from '../../../platform/runs/progress.ts'
import type { ProgressEvent } from '../../../platform/runs/run-queue.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { TaskState } from '../frame/crew-graph.ts'
import { sentence } from '../frame/format.ts'
import type { KindName } from '../frame/kinds.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** A step of a run on its time axis: an attempt, a crew, a task, a call, or what happened once. */
export interface RunStep {
  /** Of its first event, and the same for as long as the run goes on. */
  readonly id: string
  readonly depth: number
  readonly kind: KindName
  readonly name: string
  /** Its name is its own, such as that of a tool, not the word for what it is. */
  readonly isNamed: boolean
  /** The model, the agent or the like. */
  readonly label: string | undefined
  /** The first event in words, as it is announced. */
  readonly said: string
  readonly startMs: number
  /** Null while it goes on; the start for what took no time. */
  readonly endMs: number | null
  readonly isError: boolean
  /** Its attempt ended before it did. */
  readonly isCutOff: boolean
  readonly tokens: number | null
  /** What its events say, the latest of each field. */
  readonly facts: ProgressEvent
}

/** The steps of a run in the order of a tree, and the times that they are between. */
export interface RunTimeline {
  readonly steps: readonly RunStep[]
  readonly beginMs: number
  readonly endMs: number
}

/** A step while its events are read. */
interface Draft {
  readonly id: string
  readonly kind: KindName
  readonly type: string
  readonly attempt: number
  readonly startMs: number
  readonly parent: Draft | undefined
  readonly children: Draft[]
  endMs: number | undefined
  tokens: number | null
  facts: ProgressEvent
}

/** What the steps of an attempt belong to, while its events are read. */
interface AttemptState {
  readonly root: Draft | undefined
  readonly open: Map<string, Draft>
  lastMs: number
}

const PHASES = /^(.+)_(started|completed|finished|failed)$/
/** Steps of this kind have the others of their attempt below them. */
const CREW = 'crew'
const STEP = 'step'
const TASK = 'task'

/** Orders the events of a run as steps: a start and its end are one, calls are below their task. */
export function toRunTimeline(progress: readonly Progress[], run: Run, nowMs: number): RunTimeline {
  const hasAttempts = progress.some(({ attempt }) => attempt > 1)
  const attempts = new Map<number, AttemptState>()
  const roots: Draft[] = []
  for (const each of progress) {
    let state = attempts.get(each.attempt)
    if (!state) {
      state = startAttempt(each, hasAttempts)
      attempts.set(each.attempt, state)
      if (state.root) roots.push(state.root)
    }
    addEvent(each, state, roots)
  }
  const overMs = run.finishedAt?.getTime()
  const lastAttempt = Math.max(0, ...attempts.keys())
  const closing = (draft: Draft): number | undefined =>
    draft.attempt < lastAttempt ? attempts.get(draft.attempt)?.lastMs : overMs
  const steps = roots.flatMap((root) => flatten(root, 0, closing))
  return { steps, ...timesOf(steps, { run, nowMs }) }
}

/** Returns how far the tasks of a run are, by the newest of their steps; `asked` asks a person. */
export function taskStates(
  progress: readonly Progress[],
  run: Run,
  asked: string | undefined,
): Map<string, TaskState> {
  const states = new Map<string, TaskState>()
  for (const { kind, endMs, isError, isCutOff, facts } of toRunTimeline(progress, run, 0).steps) {
    if (kind !== TASK || typeof facts['task'] !== 'string') continue
    // It ended with its run, or its attempt.
    const hasFailed = isError || (isCutOff && run.status === 'error')
    if (isCutOff && !hasFailed) {
      states.delete(facts['task'])
      continue
    }
    const done = facts['skipped'] === undefined ? 'done' : 'skipped'
    const open = endMs === null ? 'running' : done
    states.set(facts['task'], hasFailed ? 'failed' : open)
  }
  if (asked !== undefined) states.set(asked, 'asks')
  return states
}

/** Returns true for a run all tasks of which were skipped. */
export function isSkipped(progress: readonly Progress[], run: Run): boolean {
  const states = [...taskStates(progress, run, undefined).values()]
  return states.length > 0 && states.every((state) => state === 'skipped')
}

function startAttempt(first: Progress, hasAttempts: boolean): AttemptState {
  const startMs = beginOf(first)
  const root: Draft | undefined = hasAttempts
    ? {
        ...newDraft(first, undefined),
        id: `attempt-${first.attempt}`,
        kind: 'other',
        type: `attempt ${first.attempt}`,
        facts: { type: 'attempt' },
      }
    : undefined
  return { root, open: new Map(), lastMs: startMs }
}

function addEvent(progress: Progress, state: AttemptState, roots: Draft[]): void {
  state.lastMs = Math.max(state.lastMs, endOf(progress) ?? beginOf(progress))
  if (endsStep(progress, state) || failsCrew(progress, state)) return
  const { event } = progress
  const [, what, phase] = PHASES.exec(event.type) ?? []
  const draft = newDraft(progress, parentOf(event, state))
  if (phase === 'started') state.open.set(`${what}/${subjectOf(event)}`, draft)
  place(draft, roots)
}

/** Puts a draft under its parent, and adds its tokens to all above it. */
function place(draft: Draft, roots: Draft[]): void {
  const { parent, tokens } = draft
  const siblings = parent ? parent.children : roots
  siblings.push(draft)
  for (let above = parent; above && tokens !== null; above = above.parent) {
    above.tokens = (above.tokens ?? 0) + tokens
  }
}

/** Ends the step that an event is the end of; a call that was announced is told with its end. */
function endsStep(progress: Progress, { open }: AttemptState): boolean {
  const { event } = progress
  const [, what, phase] = PHASES.exec(event.type) ?? []
  const endMs = endOf(progress) ?? (phase === undefined ? undefined : beginOf(progress))
  const key = `${phase === undefined ? 'step' : what}/${subjectOf(event)}`
  const started = open.get(key)
  if (!started || phase === 'started' || endMs === undefined) return false
  started.endMs = endMs
  started.facts = { ...started.facts, ...event }
  return open.delete(key)
}

/** The error of a run is above its steps, and in the step that raised it: not in a third place. */
function failsCrew(progress: Progress, { open }: AttemptState): boolean {
  const crew = progress.event.type === 'failed' ? openCrew(open) : undefined
  if (!crew) return false
  crew.endMs = beginOf(progress)
  crew.facts = { ...crew.facts, type: 'crew_failed' }
  return true
}

const openCrew = (open: AttemptState['open']): Draft | undefined =>
  [...open].find(([key]) => key.startsWith(`${CREW}/`))?.[1]

function newDraft(progress: Progress, parent: Draft | undefined): Draft {
  const { attempt, position, event } = progress
  const startMs = beginOf(progress)
  return {
    id: `step-${attempt}-${position}`,
    kind: kindOf(event),
    type: event.type,
    attempt,
    startMs,
    parent,
    children: [],
    endMs: event.type.endsWith('_started') ? undefined : (endOf(progress) ?? startMs),
    tokens: tokensOf(event),
    facts: event,
  }
}

/** The step that it is a part of, else the task that it names, else the crew, else the attempt. */
function parentOf(event: ProgressEvent, { open, root }: AttemptState): Draft | undefined {
  const crew = openCrew(open) ?? root
  if (event.type.startsWith(CREW)) return root
  if (event.type.startsWith('task_')) return crew
  const whole = textOf(event['parent']) ?? ''
  return open.get(`${STEP}/${whole}`) ?? open.get(`${TASK}/${whole}`) ?? taskOf(event, open) ?? crew
}

const taskOf = (event: ProgressEvent, open: AttemptState['open']): Draft | undefined =>
  [...open].find(
    ([key, { facts }]) => key.startsWith(`${TASK}/`) && facts['task'] === event['task'],
  )?.[1]

const subjectOf = (event: ProgressEvent): string =>
  textOf(event['step']) ?? textOf(event['task']) ?? ''

const KINDS: readonly (readonly [word: string, kind: KindName])[] = [
  ['llm', 'llm'],
  ['tool', 'tool'],
  ['task', 'task'],
  ['approval', 'approval'],
  ['crew', 'agent'],
]

function kindOf({ type, kind }: ProgressEvent): KindName {
  const word = textOf(kind) ?? type
  return KINDS.find(([part]) => word.includes(part))?.[1] ?? 'span'
}

function flatten(
  draft: Draft,
  depth: number,
  closing: (draft: Draft) => number | undefined,
): RunStep[] {
  const end = draft.endMs ?? closing(draft)
  const { id, kind, startMs, tokens, facts } = draft
  const isAttempt = facts.type === 'attempt'
  const step: RunStep = {
    id,
    depth,
    kind,
    name: ownNameOf(draft) ?? wordOf(draft),
    isNamed: ownNameOf(draft) !== undefined,
    label: labelOf(draft),
    said: sentence(draft.type),
    startMs,
    endMs: end === undefined ? null : Math.max(startMs, isAttempt ? lastEnd(draft, end) : end),
    isError: facts['error'] !== undefined || facts.type.includes('fail'),
    isCutOff: !isAttempt && draft.endMs === undefined && end !== undefined,
    tokens,
    facts,
  }
  return [step, ...draft.children.flatMap((child) => flatten(child, depth + 1, closing))]
}

const lastEnd = ({ children }: Draft, end: number): number =>
  Math.max(end, ...children.map((child) => child.endMs ?? end))

const ownNameOf = ({ facts }: Draft): string | undefined =>
  textOf(facts['name']) ?? textOf(facts['task_name'])

const wordOf = ({ type }: Draft): string => visibleText(sentence(PHASES.exec(type)?.[1] ?? type))

function labelOf({ kind, facts }: Draft): string | undefined {
  const keys = kind === 'llm' ? ['request_model'] : ['tool', 'task', 'crew', 'agent']
  const label = keys.map((key) => textOf(facts[key])).find((text) => text !== undefined)
  return label === textOf(facts['name']) ? undefined : label
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? visibleText(value) : undefined

const timeOf = (value: unknown): number | undefined => {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isNaN(ms) ? undefined : ms
}

const beginOf = ({ event, recordedAt }: Progress): number =>
  timeOf(event['started_at']) ?? timeOf(event['at']) ?? recordedAt.getTime()

const endOf = ({ event }: Progress): number | undefined => timeOf(event['ended_at'])

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

function tokensOf(event: ProgressEvent): number | null {
  const [input, output] = [numberOf(event['input_tokens']), numberOf(event['output_tokens'])]
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0)
}

/** From the start of the run, or its first event, to its end, or now. */
function timesOf(
  steps: readonly RunStep[],
  { run, nowMs }: { run: Run; nowMs: number },
): { beginMs: number; endMs: number } {
  const started = run.startedAt?.getTime() ?? nowMs
  const beginMs = steps.reduce((least, { startMs }) => Math.min(least, startMs), started)
  const over = run.finishedAt?.getTime() ?? nowMs
  const endMs = steps.reduce((most, { endMs: end }) => Math.max(most, end ?? 0), over)
  return { beginMs, endMs: Math.max(endMs, beginMs) }
}
