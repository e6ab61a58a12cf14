import type { Lease } from '../../../../../services/platform/runs/run-queue.ts'

export type State = 'queued' | 'running' | 'waiting' | 'ended'

/** What a run is to the model: no more than who may take it, and when. */
export interface ModelRun {
  readonly id: string
  readonly line: number
  state: State
  /** In line, the smaller the earlier. */
  place: number
  isDelayed: boolean
  lease: Lease | undefined
  lostAttempts: number
  /** Its worker is gone. */
  isLost: boolean
}

/** An automation. */
export interface ModelLine {
  readonly id: number
  readonly organizationId: number
  limit: number | undefined
  isStopped: boolean
}

/** The queue as it ought to be: who takes a run is said by the test, and checked here. */
export interface Model {
  readonly lines: readonly ModelLine[]
  readonly runs: Map<string, ModelRun>
  places: number
}

export const createModel = (lines: readonly Pick<ModelLine, 'id' | 'organizationId'>[]): Model => ({
  lines: lines.map((line) => ({ ...line, limit: undefined, isStopped: false })),
  runs: new Map(),
  places: 0,
})

export const runsOf = (model: Model, state: State): ModelRun[] =>
  [...model.runs.values()].filter((run) => run.state === state)

export function lineOf(model: Model, { line }: Pick<ModelRun, 'line'>): ModelLine {
  const found = model.lines.find(({ id }) => id === line)
  if (!found) throw new Error(`there is no line ${line}`)
  return found
}

export const runningOf = (model: Model, line: ModelLine): number =>
  runsOf(model, 'running').filter((run) => run.line === line.id).length

/** The runs of a line that may start, the first one first. */
function startable(model: Model, line: ModelLine): ModelRun[] {
  if (line.isStopped) return []
  return runsOf(model, 'queued')
    .filter((run) => run.line === line.id && !run.isDelayed)
    .toSorted((a, b) => a.place - b.place)
}

/** How many runs of a line may start. */
export function roomOf(model: Model, line: ModelLine): number {
  const free = (line.limit ?? Infinity) - runningOf(model, line)
  return Math.max(0, Math.min(free, startable(model, line).length))
}

export const roomOfAll = (model: Model): number =>
  model.lines.reduce((sum, line) => sum + roomOf(model, line), 0)

/** A look at the queue brings back what lost workers had, until it was lost three times. */
export function bringBackLost(model: Model): void {
  for (const run of runsOf(model, 'running')) {
    if (!run.isLost || run.lostAttempts + 1 >= 3) continue
    Object.assign(run, { state: 'queued', lease: undefined, isLost: false })
    run.lostAttempts += 1
  }
}

/** What a take may do that others may not. */
export interface Liberties {
  /** A crash gave back an earlier run of its automation. */
  readonly mayOvertake?: boolean
  /** A worker of before does not count what is only to be given up. */
  readonly isFormer?: boolean
}

interface Start extends Liberties {
  readonly lease: Lease
}

/** Starts a run; raises an error if it must not start, or has started before. */
export function start(model: Model, { lease, mayOvertake = false, isFormer }: Start): void {
  const { id } = lease
  const run = model.runs.get(id)
  if (!run) throw new Error('a run was taken that nobody queued')
  const line = lineOf(model, run)
  const [first] = startable(model, line)
  if (run.state !== 'queued' || run.isDelayed || line.isStopped || !first) {
    throw new Error(`a run was taken that is ${JSON.stringify(run)}`)
  }
  if (run.place > first.place && !mayOvertake)
    throw new Error('a run overtook another one of its automation')
  const lost = runsOf(model, 'running').filter((each) => each.line === line.id && each.isLost)
  const running = runningOf(model, line) - (isFormer ? lost.length : 0)
  if (running >= (line.limit ?? Infinity)) throw new Error('an automation exceeds its limit')
  Object.assign(run, { state: 'running', lease, isLost: false })
}

/**
 * Raises an error if somebody got a turn before others that had fewer runs in progress and could
 * have started one: organizations among each other, and the automations of each.
 */
export function checkTurns(model: Model, taken: readonly ModelRun[]): void {
  const open = model.lines.filter((line) => roomOf(model, line) > 0)
  for (const line of new Set(taken.map((run) => lineOf(model, run)))) {
    for (const other of open) {
      const isSibling = other.organizationId === line.organizationId
      const count = isSibling ? runningOf : runningOfOrganization
      if (other !== line && count(model, line) > count(model, other) + 1) {
        throw new Error('a turn was passed over')
      }
    }
  }
}

const runningOfOrganization = (model: Model, { organizationId }: ModelLine): number =>
  model.lines
    .filter((line) => line.organizationId === organizationId)
    .reduce((sum, line) => sum + runningOf(model, line), 0)
