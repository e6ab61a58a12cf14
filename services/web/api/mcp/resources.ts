import type { Context } from 'hono'
import { findStarted, listStarted } from '../../../platform/automations/startable-automations.ts'
import type { Reach, StartedRun } from '../../../platform/automations/startable-automations.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import type { Skeleton, SkeletonSpan } from '../../traces/skeleton.ts'
import { traceIdOf } from '../../traces/trace-place.ts'
import { isOver } from '../automation/run-status.ts'
import type { Fields } from '../json-rpc.ts'
import type { ToolCall } from './call-tool.ts'
import { CODES, invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'

const PAGE_RESOURCES = 50
/** Of a trace: some hundred KiB of text. */
const SPANS_MAX = 1000
const URI = /^run:\/\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/trace$/
const URI_SHOWN = 200
const MIME_TYPE = 'application/json'

const TEMPLATE = {
  uriTemplate: 'run://{kickoff_id}/trace',
  name: 'trace',
  title: 'Trace of a run',
  description: 'The spans of a run that this token or client started, by its kickoff id.',
  mimeType: MIME_TYPE,
}

const uriOf = (runId: string): string => `run://${runId}/trace`

/** The methods of resources. Each is the trace of a run that the caller started. */
export const RESOURCE_METHODS: ReadonlySet<string> = new Set([
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** Lists the traces of the caller's own runs, or reads one. */
export async function askResource(
  c: Context<McpCall>,
  deps: WebDeps,
  { request: { method, params }, reach }: ToolCall,
): Promise<Outcome> {
  const { id: starterId } = toStarter(c.var.actor, 'api')
  const asked = { reach, starterId }
  if (method === 'resources/list') return listTraces(deps, asked, params['cursor'])
  if (method === 'resources/read') return readTrace(c, deps, { ...asked, uri: params['uri'] })
  return { result: { resourceTemplates: [TEMPLATE] } }
}

interface Asked {
  readonly reach: Reach
  readonly starterId: string
}

async function listTraces(
  { sql }: WebDeps,
  { reach, starterId }: Asked,
  cursor: unknown,
): Promise<Outcome> {
  const after = typeof cursor === 'string' ? cursor : undefined
  const isOfList =
    cursor === undefined ||
    (after !== undefined && (await findStarted(sql, reach, { runId: after, starterId })))
  if (!isOfList) return invalidParams('The cursor is none of this list. Begin without one.')
  const found = await listStarted(sql, reach, { starterId, after, limit: PAGE_RESOURCES + 1 })
  const page = found.slice(0, PAGE_RESOURCES)
  const next = found.length > PAGE_RESOURCES ? { nextCursor: page.at(-1)?.id } : {}
  return { result: { resources: page.map(toResource), ...next } }
}

const toResource = ({ id, slug, name, status, queuedAt }: StartedRun): Fields => ({
  uri: uriOf(id),
  name: `${slug} ${id}`,
  title: `${name}, ${queuedAt.toISOString()}`,
  description: `The trace of a run of ${name}, which is ${status}.`,
  mimeType: MIME_TYPE,
})

/** Reads the trace of one run. What is not the caller's own is not there. */
async function readTrace(
  c: Context<McpCall>,
  { sql, traces }: WebDeps,
  { reach, starterId, uri }: Asked & { readonly uri: unknown },
): Promise<Outcome> {
  const given = typeof uri === 'string' ? uri : ''
  const [, runId = ''] = URI.exec(given) ?? []
  const automation = await findStarted(sql, reach, { runId, starterId })
  const run = automation && (await findRun(sql, automation.id, runId))
  if (!run || !traces) return notFound(given)
  c.var.wide['kickoff_id'] = runId
  try {
    const skeleton = await traces(reach.organizationId).skeleton(traceIdOf(runId) ?? '', SPANS_MAX)
    const document = { automation: automation.slug, ...toDocument(run, skeleton) }
    const text = JSON.stringify(document)
    return { result: { contents: [{ uri: uriOf(runId), mimeType: MIME_TYPE, text }] } }
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return { fault: { code: CODES.internal, message: describeAbsence(run, thrown), status: 200 } }
  }
}

/** MCP knows it by its code, and data that are nothing but the address. */
function notFound(uri: string): Outcome {
  const { fault } = invalidParams('There is no such resource. resources/list has those that are.')
  return { fault: { ...fault, data: { uri: uri.slice(0, URI_SHOWN) } } }
}

function describeAbsence(run: Run, { code, message }: AppError): string {
  if (code !== 'not_found') return `The trace cannot be read right now. ${message} Try again later.`
  return isOver(run)
    ? `The run ${run.id} is ${run.status}, and its trace is not there: it arrives some seconds ` +
        'after the end of a run, and is deleted when its retention is over.'
    : `The run ${run.id} is ${run.status}, and no span of it is there yet. Read it again later.`
}

function toDocument(run: Run, { traceId, startMs, spans, isTruncated }: Skeleton): Fields {
  const { id, status, queuedAt, startedAt, finishedAt } = run
  return {
    kickoff_id: id,
    status,
    queued_at: queuedAt,
    started_at: startedAt,
    finished_at: finishedAt,
    trace_id: traceId,
    start_time: new Date(startMs),
    spans: spans.map(toSpan),
    truncated: isTruncated,
  }
}

/** Without what is not known of it. */
function toSpan(span: SkeletonSpan): Fields {
  const fields = {
    span_id: span.id,
    parent_span_id: span.parentId,
    name: span.name,
    operation_kind: span.operationKind,
    start_offset_ns: span.startNs,
    duration_ns: span.durationNs,
    status: span.status,
    error_type: span.errorType,
    model: span.model,
    agent: span.agent,
    task: span.task,
    tool: span.tool,
    input_tokens: span.inputTokens,
    output_tokens: span.outputTokens,
    cost_usd: span.costUsd ?? span.computedCostUsd,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
