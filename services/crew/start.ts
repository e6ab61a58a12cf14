import type { ModelEndpoint } from '../platform/connections/model-endpoint.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { createForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import { createLlmGuard, createToolGuard } from '../shared/outgoing/guards.ts'
import type { Log } from '../shared/log.ts'
import { serve } from '../shared/http/serve.ts'
import type { Service } from '../shared/http/serve.ts'
import { createApp } from './app.ts'
import { crewEnv } from './env.ts'
import { createHabits } from '../shared/models/habits.ts'
import { createLlm } from '../shared/models/llm.ts'
import { readFile } from 'node:fs/promises'
import { parseCrewDefinition } from '../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { AppError, toError } from '../shared/errors.ts'

interface DefinitionSource {
  readonly json?: string
  readonly file?: string
}

/** The time that a stop takes beside the drain. */
const CLOSE_MS = 5000
/** A kickoff's body stays open as long as its run goes on. */
const REQUEST_MS = 172_800_000
/** The worker writes an empty line much more often. */
const BODY_IDLE_MS = 30_000

/** Starts the runtime of one crew. Raises `invalid_configuration`. */
export async function start(source: EnvSource, options: { log?: Log } = {}): Promise<Service> {
  const env = readEnv(crewEnv, source)
  const log = options.log ?? createLog({ name: 'crew', level: env.LOG_LEVEL })
  const definition = await readDefinition({
    json: env.CREW_DEFINITION,
    file: env.CREW_DEFINITION_FILE,
  })
  const timeoutMs = env.LLM_TIMEOUT_SECONDS * 1000
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = env
  const proxy = createForwardProxy(env)
  const habits = createHabits()
  const llm = createLlm({ baseUrl, apiKey, timeoutMs, proxy, habits })
  const guard = createLlmGuard([...env.LLM_PRIVATE_ORIGINS, new URL(baseUrl).origin], proxy)
  const llmAt = ({ base_url, api_key, api, service_tier }: ModelEndpoint) => {
    const place = { baseUrl: base_url, apiKey: api_key, api, serviceTier: service_tier }
    return createLlm({ ...place, timeoutMs, guard, habits })
  }
  const drainMs = env.CREW_DRAIN_SECONDS * 1000
  const draining = new AbortController()
  const app = createApp({
    definition,
    llm,
    llmAt,
    toolGuard: createToolGuard(env.TOOL_PRIVATE_ORIGINS, proxy),
    token: env.CREW_TOKEN,
    log,
    draining: draining.signal,
  })
  const service = await serve({
    fetch: app.fetch,
    port: env.PORT,
    host: env.HOST,
    log,
    drainMs,
    requestTimeoutMs: REQUEST_MS,
    bodyIdleMs: BODY_IDLE_MS,
    onDrain: () => draining.abort(),
  })
  return { ...service, stopMs: drainMs + CLOSE_MS }
}

/**
 * The project version this crew runs. Raises `invalid_configuration` unless exactly one source is
 * set and valid.
 */
async function readDefinition({ json, file }: DefinitionSource): Promise<CrewDefinition> {
  if ((json === undefined) === (file === undefined)) {
    const given = json === undefined ? 'neither' : 'both'
    throw new AppError(
      'invalid_configuration',
      `Set exactly one of CREW_DEFINITION and CREW_DEFINITION_FILE (${given} set).`,
    )
  }
  const name = file === undefined ? 'CREW_DEFINITION' : `CREW_DEFINITION_FILE (${file})`
  try {
    const input: unknown = JSON.parse(json ?? (await readFile(file ?? '', 'utf8')))
    return parseCrewDefinition(input)
  } catch (thrown) {
    const cause = toError(thrown)
    throw new AppError('invalid_configuration', `${name} cannot be used: ${cause.message}`, {
      cause,
    })
  }
}
