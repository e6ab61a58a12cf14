import type { Context } from 'hono'
import { createHash } from 'node:crypto'
import { findStartable, findStarted } from '../../../platform/automations/startable-automations.ts'
import type {
  Reach,
  StartableAutomation,
} from '../../../platform/automations/startable-automations.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { findApproval } from '../../../platform/runs/run-approvals.ts'
import { countDone, listRunTasks } from '../../../platform/runs/run-tasks.ts'
import type { RunTask } from '../../../platform/runs/run-tasks.ts'
import { findRun, kickoff } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { RunText } from '../../../platform/runs/run-texts.ts'
import { createBell } from '../../../shared/bell.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import { queueTexts } from '../../run-texts/queue-texts.ts'
import type { TextQueue } from '../../run-texts/queue-texts.ts'
import { automationUrl } from '../automation/automation-urls.ts'
import { callerOf } from '../automation/events.ts'
import { followRun } from '../automation/follow-run.ts'
import { readIdempotencyKey } from '../automation/kickoff-request.ts'
import { resumeRun } from '../automation/resume.ts'
import { describeProgress, isOver } from '../automation/run-status.ts'
import { canAsk, readAnswer, toQuestion } from './decisions.ts'
import { metaOf, takesTasks } from './era.ts'
import type { Era } from './era.ts'
import { invalidParams } from './messages.ts'
import type { Fields, RpcRequest } from '../json-rpc.ts'
import type { Outcome, Progress } from './messages.ts'
import { refusedResult, toResult, toTask, toTaskHandle } from './results.ts'

/** Shorter than the minute for which usual clients and proxies wait. */
const WAIT_MS = 50_000
/** With progress, which keeps both of them waiting. */
const WAIT_WITH_PROGRESS_MS = 600_000
const PROGRESS_MS = 15_000
/** Between two notifications of what a model writes. */
const TEXT_MS = 1000
const TEXT_CHARACTERS_MAX = 500

/** A request about a run. */
export interface ToolCall {
  readonly request: RpcRequest
  readonly reach: Reach
  readonly era: Era
  /** The token of the progress that the caller asks for, if it reads a stream. */
  readonly progressToken: unknown
}

/**
 * Starts a run by a tool, once for each key, and follows it: the run goes on when the caller does
 * not wait. What the automation does not take is a result, from which a model learns.
 */
export async function callTool(
  c: Context<McpCall>,
  deps: WebDeps,
  call: ToolCall,
): Promise<Outcome> {
  const { name, arguments: given = {} } = call.request.params
  const automation =
    typeof name === 'string' ? await findStartable(deps.sql, call.reach, name) : undefined
  if (!automation)
    return invalidParams(`There is no tool ${JSON.stringify(name ?? null).slice(0, 80)}.`)
  if (!isObject(given)) return invalidParams('"arguments" is an object with the inputs by name.')
  const asks = canAsk(call.era, call.request.params)
  try {
    if (call.request.params['requestState'] !== undefined) {
      return { progress: await goOn(c, deps, { ...call, automation, asks }) }
    }
    const idempotencyKey = keyOf(c, call.request)
    const runId = await start(c, deps, { automation, given, idempotencyKey })
    c.var.wide['automation_id'] = automation.automationId
    c.var.wide['kickoff_id'] = runId
    const run = isTask(call) && (await findRun(deps.sql, automation.id, runId))
    if (run) return { result: toStarted(run, call.era) }
    return { progress: follow(c, deps, { ...call, automation, runId, asks }) }
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.status < 500) return { result: refusedResult(thrown) }
    throw thrown
  }
}

/**
 * Lets a run go on with what the person behind the client decided, and follows it. What was decided
 * meanwhile, such as by this very request when it is sent again, is no error.
 */
async function goOn(
  c: Context<McpCall>,
  deps: WebDeps,
  { automation, asks, ...call }: ToolCall & Pick<Followed, 'automation' | 'asks'>,
): Promise<Progress> {
  const { runId = '', body } = readAnswer(call.request.params) ?? {}
  const { id: starterId } = toStarter(c.var.actor, 'api')
  const started = await findStarted(deps.sql, call.reach, { runId, starterId })
  if (started?.id !== automation.id) {
    throw new AppError('not_found', 'There is no such question. Call the tool without an answer.')
  }
  c.var.wide['kickoff_id'] = runId
  const asked = { deploymentId: automation.id, id: runId, body }
  await (body && resumeRun(c.var, deps.sql, asked).catch(ignoreConflict))
  return follow(c, deps, { ...call, automation, runId, asks: body !== undefined && asks })
}

/** Does not raise what was decided meanwhile. */
export function ignoreConflict(thrown: unknown): void {
  if (!(thrown instanceof AppError && thrown.code === 'conflict')) throw thrown
}

/** In 2026-07-28 a client says that it takes tasks; one that asks for progress reads a stream. */
const isTask = ({ request: { params }, era, progressToken }: ToolCall): boolean =>
  era === 'session' ? isObject(params['task']) : takesTasks(params) && progressToken === undefined

const toStarted = (run: Run, era: Era): Fields =>
  era === 'session' ? { task: toTask(run) } : { resultType: 'task', ...toTaskHandle(run) }

interface Start {
  readonly automation: StartableAutomation
  readonly given: Fields
  readonly idempotencyKey: string | undefined
}

async function start(
  c: Context<McpCall>,
  { sql, queue }: WebDeps,
  { automation, given, idempotencyKey }: Start,
): Promise<string> {
  const { id: deploymentId, organizationId, definition } = automation
  const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
  const starter = toStarter(c.var.actor, 'api')
  const admit = queue.of(organizationId)
  return kickoff(sql, { deploymentId, ...prepared, idempotencyKey, starter, admit })
}

/**
 * Returns what makes two deliveries of a call the same run: the key that the caller gives, or the
 * id of the request in a session, in which no id is used twice. It counts for that caller alone.
 * Raises `invalid_request`.
 */
function keyOf(c: Context<McpCall>, { id, params }: RpcRequest): string | undefined {
  const { idempotency_key: inMeta = c.req.header('idempotency-key') } = metaOf(params)
  const session = c.req.header('mcp-session-id')
  if (inMeta === undefined && session === undefined) return undefined
  const isText = inMeta === undefined || typeof inMeta === 'string'
  const given = isText ? inMeta : JSON.stringify(inMeta)
  const { kind, id: caller } = c.var.actor
  const own = readIdempotencyKey(given) ?? [session, id]
  const text = JSON.stringify([kind, caller, own])
  return `mcp-${createHash('sha256').update(text).digest('base64url')}`
}

interface Followed extends Pick<ToolCall, 'progressToken'> {
  /** Is part of the `_meta` of the result. */
  readonly meta?: Fields
  /** The person behind the client is asked for what the run waits for. @default false */
  readonly asks?: boolean
  readonly automation: StartableAutomation
  readonly runId: string
}

/** Follows a run to its end or the end of the time, and returns the result of its call. */
export async function* follow(
  c: Context<McpCall>,
  deps: WebDeps,
  { automation, runId, progressToken, meta, asks = false }: Followed,
): Progress {
  const tell = createProgress(progressToken)
  const isTold = progressToken !== undefined
  const wait = isTold
    ? { change: 'event' as const, waitMs: WAIT_WITH_PROGRESS_MS, lookMs: PROGRESS_MS }
    : { change: 'status' as const, waitMs: WAIT_MS }
  const { signal } = c.req.raw
  const asked = { ...wait, automation, runId, caller: callerOf(c), signal }
  const runs = followRun(deps, asked)
  let last: Run | undefined
  let tasks: readonly RunTask[] = []
  for await (const seen of isTold ? withTexts(runs, queueTexts(deps.texts, runId)) : runs) {
    if (typeof seen === 'string') {
      yield tell(tasks, seen)
      continue
    }
    last = seen
    if (!isTold || isOver(seen)) continue
    tasks = await listRunTasks(deps.sql, seen)
    yield tell(tasks)
  }
  const approval =
    asks && last?.status === 'waiting' ? await findApproval(deps.sql, runId) : undefined
  if (approval) return toQuestion(approval)
  const statusUrl = `${automationUrl(deps.config, automation.automationId)}/status/${runId}`
  return toResult(last, { definition: automation.definition, runId, statusUrl, meta })
}

/** Grows with each look, and is a whole number less than the tasks that are done and the next. */
function createProgress(progressToken: unknown) {
  let done = 0
  let looks = 0
  return (tasks: readonly RunTask[], written?: string): Fields => {
    const completed = countDone(tasks)
    looks = completed > done ? 1 : looks + 1
    done = Math.max(done, completed)
    return {
      progressToken,
      progress: done + looks / (looks + 1),
      ...(tasks.length > 0 && { total: tasks.length }),
      message: written ?? describeProgress(tasks, done),
    }
  }
}

/** Yields what models write between two looks at a run, as one text in a second. */
async function* withTexts(
  runs: AsyncGenerator<Run, void>,
  texts: TextQueue,
): AsyncGenerator<Run | string, void> {
  const pause = createBell()
  try {
    for (;;) {
      const looked = new AbortController()
      const { signal } = looked
      const look = runs.next().finally(() => looked.abort())
      // It may fail while the caller is slow to read a text.
      look.catch(() => {})
      while (!signal.aborted) {
        await texts.arrival(PROGRESS_MS, signal)
        const written = describeTexts(texts.take())
        if (written === undefined || signal.aborted) continue
        yield written
        await pause.wait(TEXT_MS, signal)
      }
      const { done, value } = await look
      if (done) return
      yield value
    }
  } finally {
    texts.leave()
    await runs.return()
  }
}

/** Returns the end of what the newest of the answers got, under the name of its task. */
function describeTexts(texts: readonly RunText[]): string | undefined {
  const newest = texts.at(-1)
  if (!newest) return undefined
  const own = texts.filter(({ step }) => step === newest.step)
  const whole = own.map(({ text }) => text).join('')
  const shown = whole.slice(-TEXT_CHARACTERS_MAX).replace(/^[\uDC00-\uDFFF]/, '')
  return `${newest.task}: ${shown.length < whole.length ? '…' : ''}${shown}`
}
