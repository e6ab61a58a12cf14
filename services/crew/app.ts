import { createHash, timingSafeEqual } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { Hono } from 'hono'
import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { inputNames } from '../platform/definitions/crew-inputs.ts'
import {
  CONTRACT,
  HEARTBEAT_MS,
  JOURNAL_CAPABILITY,
  REPLAY_CAPABILITY,
} from '../platform/crew-contract/crew-protocol.ts'
import type { KickoffRequest } from '../platform/crew-contract/crew-protocol.ts'
import { FILES_CAPABILITY } from '../platform/crew-contract/kickoff-files.ts'
import type { ModelEndpoint } from '../platform/connections/model-endpoint.ts'
import { stepBase } from '../platform/crew-contract/step-key.ts'
import { AppError } from '../shared/errors.ts'
import { createDocumentReader } from '../shared/documents/read-document.ts'
import { requestLog } from '../shared/log.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import { problemResponse } from '../shared/http/problem.ts'
import { createMcpEras } from '../shared/mcp/per-request.ts'
import type { OutgoingGuard } from '../shared/outgoing/guard.ts'
import { createToolGuard } from '../shared/outgoing/guards.ts'
import { streamEvents } from './event-stream.ts'
import type { Llm } from '../shared/models/llm.ts'
import { checkFiles } from './material/files.ts'
import { openMaterial } from './material/material.ts'
import { isOpenBody, mediaTypeOf, readKickoff } from './read-kickoff.ts'
import type { Kickoff } from './read-kickoff.ts'
import { createReplaySteps } from './replay-steps.ts'
import { runCrew } from './run-crew.ts'
import { createSteps } from './steps.ts'
import type { Channel, Steps } from './steps.ts'

/**
 * Four times what the automation API takes, so that this is never the limit a caller meets first.
 */
const BODY_BYTES_MAX = 1_048_576
/** The files of all runs, which are in memory; runs with more are refused with 503. */
const FILE_BYTES_MAX = 41_943_040
const CAPABILITIES = [JOURNAL_CAPABILITY, FILES_CAPABILITY, REPLAY_CAPABILITY]
/** Runs at the same time; more are refused with 503. */
const RUNS_MAX = 100

interface CrewDeps {
  /** Stands before the addresses of tools. @default one that lets no private address pass */
  readonly toolGuard?: OutgoingGuard
  readonly definition: CrewDefinition
  readonly llm: Llm
  /** The model behind an endpoint that a kickoff brings. */
  readonly llmAt: (endpoint: ModelEndpoint) => Llm
  /** The bearer token that a caller of `/kickoff` has to present. */
  readonly token: string
  readonly log: Log
  /**
   * Aborts when the process stops: `/health` then answers 503, no run starts, and the callers of
   * current runs are notified.
   */
  readonly draining?: AbortSignal
  /** @default 5000 */
  readonly heartbeatMs?: number
}

type Env = { Variables: RequestVariables }

/**
 * The HTTP surface of one crew (docs/crew-contract.md): `/health`, `/describe`, `/inputs`, and
 * `/kickoff`, which streams a run as lines of JSON.
 */
export function createApp(deps: CrewDeps): Hono<Env> {
  const { definition, log, draining } = deps
  const app = new Hono<Env>()
  app.use(requestLog(log))
  app.get('/health', (c) => {
    c.header('cache-control', 'no-store')
    return draining?.aborted ? c.json({ status: 'fail' }, 503) : c.json({ status: 'ok' })
  })
  app.get('/describe', (c) =>
    c.json({ contract: CONTRACT, name: definition.name, capabilities: CAPABILITIES }),
  )
  app.get('/inputs', (c) => c.json({ inputs: inputNames(definition) }))
  app.post('/kickoff', requireToken(deps.token), requireJson, limitBody, kickoffHandler(deps))
  app.notFound((c) =>
    problemResponse(new AppError('not_found', 'There is nothing here.'), c.get('requestId')),
  )
  app.onError((error, c) => {
    if (!(error instanceof AppError)) log.error({ err: error }, 'request failed')
    return problemResponse(error, c.get('requestId'))
  })
  return app
}

function kickoffHandler(deps: CrewDeps) {
  const { log, draining, heartbeatMs = HEARTBEAT_MS, toolGuard = createToolGuard([]) } = deps
  const eras = createMcpEras()
  const readDocument = createDocumentReader()
  let runs = 0
  let fileBytes = 0
  // Each run listens; Node would take more than ten for a leak.
  if (draining) setMaxListeners(RUNS_MAX, draining)
  return async function kickoff(c: Context<Env>): Promise<Response> {
    const { files = {}, ...request } = await readKickoff(c, deps.definition)
    if (draining?.aborted || runs >= RUNS_MAX) {
      const why = draining?.aborted ? 'This crew is stopping.' : `${RUNS_MAX} runs are in progress.`
      const headers = { 'retry-after': '1' }
      throw new AppError('unavailable', `${why} Try again soon.`, { headers })
    }
    const bytes = Object.values(files).reduce((sum, { size }) => sum + size, 0)
    if (bytes > 0 && fileBytes + bytes > FILE_BYTES_MAX) throw filesBusy()
    const { kickoff_id, definition } = request
    checkFiles({ ...request, files })
    const llmFor = chooseLlm(deps, request)
    runs += 1
    fileBytes += bytes
    c.get('wide')['kickoff_id'] = kickoff_id
    const body = streamEvents({
      run: (channel, signal) => {
        const steps = openSteps(request, { channel, signal, draining })
        const toolDeps = { guard: toolGuard, eras, readDocument, connections: request.connections }
        // Documents take a while to read, within which the worker hears of the run.
        const open = () => openMaterial({ ...request, files }, { readDocument, signal })
        return runCrew({ definition, llmFor, steps, toolDeps, open }, request.inputs)
      },
      heartbeatMs,
      draining,
      follow: request.follow,
      onEnd: (end) => {
        runs -= 1
        fileBytes -= bytes
        log.info({ kickoff_id, ...end }, 'run ended')
      },
    })
    return new Response(body, {
      headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    })
  }
}

const filesBusy = (): AppError =>
  new AppError('unavailable', 'The files of other runs fill the memory. Try again soon.', {
    headers: { 'retry-after': '1' },
  })

function chooseLlm({ llm, llmAt }: CrewDeps, { models = {} }: KickoffRequest) {
  return function llmFor(model: string): Llm {
    const endpoint = Object.hasOwn(models, model) ? models[model] : undefined
    return endpoint ? llmAt(endpoint) : llm
  }
}

interface Attempt {
  readonly channel: Channel
  readonly signal: AbortSignal
  readonly draining: AbortSignal | undefined
}

function openSteps(kickoff: Kickoff, { channel, signal, draining }: Attempt): Steps {
  const { kickoff_id, version = 0, inputs, journal = [], follow, replay } = kickoff
  const isJournaled = follow !== undefined
  // A run without a journal would begin again elsewhere: it goes on for as long as it may.
  const ends = isJournaled && draining ? [kickoff.stopping, draining] : [kickoff.stopping]
  const stopping = AbortSignal.any(ends)
  if (replay) return createReplaySteps({ ...replay, channel, signal, stopping })
  return createSteps({
    runId: kickoff_id,
    base: stepBase(version, inputs),
    journal,
    isJournaled,
    channel,
    text: kickoff.text,
    signal,
    stopping,
  })
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function requireToken(token: string): MiddlewareHandler {
  const expected = digest(token)
  return async function checkToken(c, next) {
    const [, given = ''] = /^Bearer ([^\s,]+)$/i.exec(c.req.header('authorization') ?? '') ?? []
    if (!timingSafeEqual(digest(given), expected)) {
      throw new AppError('invalid_token', 'A valid crew token is required.', {
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      })
    }
    await next()
  }
}

const requireJson: MiddlewareHandler = async (c, next) => {
  if (mediaTypeOf(c) !== 'application/json' && !isOpenBody(c)) {
    throw new AppError(
      'unsupported_media_type',
      'Send the kickoff as application/json, or as the first line of application/x-ndjson.',
    )
  }
  await next()
}

const limitBody: MiddlewareHandler = async (c, next) =>
  // Lines have a limit each; the whole of them would be waited for.
  isOpenBody(c) ? next() : limitDocument(c, next)

const limitDocument = bodyLimit({
  maxSize: BODY_BYTES_MAX,
  onError: () => {
    throw new AppError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`, {
      // The rest of the body is not read: nothing else can come over this connection.
      headers: { connection: 'close' },
    })
  },
})
