import * as v from 'valibot'
import { crewDefinition } from '../definitions/crew-definition.ts'
import { approvalRequest } from './approval-request.ts'
import { prose, shown } from './event-text.ts'
import { handedConnections } from '../connections/handed-connections.ts'
import { kickoffFiles } from './kickoff-files.ts'
import { modelEndpoint } from '../connections/model-endpoint.ts'
import { STEP_KINDS } from './step-key.ts'
import { serviceTier } from '../../shared/models/llm-answer.ts'

/** The version of the crew contract that this platform speaks (docs/crew-contract.md). */
export const CONTRACT = 2
/** The capability of a crew that reports its steps, and goes on after those of a journal. */
export const JOURNAL_CAPABILITY = 'journal'
/** The capability of a crew that performs a run again with the answers of a record. */
export const REPLAY_CAPABILITY = 'replay'

/**
 * A crew writes a heartbeat this often while it runs, which distinguishes a slow model from a dead
 * connection.
 */
export const HEARTBEAT_MS = 5000
/** Six missed heartbeats: the connection is dead, or the crew's process hangs. */
export const SILENCE_MS = HEARTBEAT_MS * 6
/** The longest line of a crew. */
export const LINE_CHARACTERS_MAX = 8_388_608
/** The longest kickoff with a journal: the outputs of a hundred tasks, and calls that go on. */
export const KICKOFF_CHARACTERS_MAX = 67_108_864
/** The most keys on the path of a step. */
const STEP_PATH_MAX = 20

const time = v.pipe(v.string(), v.isoTimestamp())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const failure = v.object({ code: prose, message: prose })
/** A call of a tool that a model asks for; the arguments are JSON as the model wrote it. */
const askedCall = v.object({ id: prose, name: prose, arguments: prose })
const message = v.object({
  role: prose,
  content: prose,
  /** Of an assistant. */
  tool_calls: v.optional(v.array(askedCall)),
  /** Of a tool: the call that it answers. */
  tool_call_id: v.optional(prose),
})
const usage = v.object({
  input_tokens: count,
  output_tokens: count,
  /** Those of the input that the provider had in its cache. */
  cached_input_tokens: v.optional(count),
  /** Of a call of a model: the one by which it was billed. @default the usual one */
  service_tier: serviceTier,
})
const key = v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/, 'must be a key of 1 to 64 characters'))

/** Of each event: its number within the attempt, which acks name; its time; the key of its step. */
const common = { seq: v.optional(count), at: time, step: v.optional(key) }
/** The step that the one of a call is a part of. */
const parent = v.optional(key)

/** One call of a model, with its retries: what was sent, what came back or why nothing did. */
const llmCall = v.object({
  ...common,
  type: v.literal('llm_call'),
  at: v.optional(time),
  parent,
  task: prose,
  agent: prose,
  request_model: prose,
  /** The model that would have been asked, and why it was not, or did not answer. */
  instead_of: v.optional(v.object({ model: prose, error: failure })),
  provider: prose,
  server_address: prose,
  server_port: count,
  messages_in: v.array(message),
  messages_out: v.array(message),
  started_at: time,
  ended_at: time,
  /** The service tier that was asked for, and why it was not given. */
  refused_tier: v.optional(v.object({ tier: prose, error: failure })),
  /** HTTP requests made, the first one included. */
  attempts: count,
  response_model: v.optional(prose),
  response_id: v.optional(prose),
  service_tier: serviceTier,
  finish_reason: v.optional(prose),
  input_tokens: v.optional(count),
  output_tokens: v.optional(count),
  cached_input_tokens: v.optional(count),
  /** Those of the output that the model reasoned with. */
  reasoning_output_tokens: v.optional(count),
  error: v.optional(failure),
})

/** One call of a tool: what it was asked, and what it answered or why it did not. */
const toolCall = v.object({
  ...common,
  type: v.literal('tool_call'),
  at: v.optional(time),
  parent,
  task: prose,
  agent: prose,
  /** As the model sees it. */
  name: prose,
  /** The key of the tool in the version, and its type; none for one that is not there. */
  tool: v.optional(prose),
  tool_type: v.optional(prose),
  call_id: prose,
  arguments: prose,
  result: v.optional(prose),
  error: v.optional(failure),
  started_at: time,
  ended_at: time,
})

const stepStarted = v.object({
  ...common,
  type: v.literal('step_started'),
  step: key,
  kind: v.picklist(STEP_KINDS),
  name: prose,
  path: v.pipe(v.array(prose), v.maxLength(STEP_PATH_MAX)),
  parent,
  /** Of a call of a model: the tokens that it may use at the most. */
  estimate: v.optional(usage),
  /** For people: the arguments of a tool, the question of an approval. */
  input: v.optional(v.pipe(v.unknown(), v.transform(shown))),
  /**
   * All that a model is asked (`model`, `messages`, `tools`, `parameters`) or a tool (`tool`,
   * `arguments`), for a replay. Never a secret.
   */
  request: v.optional(v.record(v.string(), v.unknown())),
})

const json = v.record(v.string(), v.unknown())
const runRequest = { step: key, automation: prose, inputs: json }
const failedStep = { step: key, error: failure, usage: v.optional(usage) }

/** The events of the contract. */
export const crewEvent = v.variant('type', [
  v.object({ ...common, type: v.literal('crew_started'), crew: prose }),
  v.object({
    ...common,
    type: v.literal('task_started'),
    task: prose,
    agent: prose,
    agent_role: prose,
    description: prose,
  }),
  llmCall,
  toolCall,
  v.object({
    ...common,
    type: v.literal('task_completed'),
    task: prose,
    agent: prose,
    output: prose,
    /** Why it was not done: its output is empty. */
    skipped: v.optional(prose),
  }),
  v.object({ ...common, type: v.literal('artifact'), task: prose, name: prose, content: prose }),
  stepStarted,
  v.object({
    ...common,
    type: v.literal('step_finished'),
    step: key,
    /** Any JSON: a new attempt gets it instead of doing the step again. */
    result: v.unknown(),
    usage: v.optional(usage),
  }),
  v.object({ ...common, type: v.literal('step_failed'), ...failedStep }),
  v.object({ ...common, type: v.literal('crew_completed'), output: prose, usage }),
  v.object({ ...common, type: v.literal('failed'), error: failure }),
  v.object({ ...common, type: v.literal('handed_over') }),
  v.object({ ...common, type: v.literal('approval_requested'), ...approvalRequest }),
  v.object({ ...common, type: v.literal('run_requested'), ...runRequest }),
  v.object({
    ...common,
    type: v.literal('text_delta'),
    at: v.optional(time),
    step: key,
    task: prose,
    agent: prose,
    /** The characters of the answer before these; 0: the answer begins, or begins anew. */
    offset: count,
    text: prose,
  }),
  /** Of a replay: an answer of the record was taken, by its place in the kickoff. */
  v.object({ ...common, type: v.literal('replay_answered'), answer: count }),
  /** Of a replay: the record has no answer to what was asked. */
  v.object({
    ...common,
    type: v.literal('replay_diverged'),
    kind: v.picklist(STEP_KINDS),
    name: prose,
    path: v.pipe(v.array(prose), v.maxLength(STEP_PATH_MAX)),
    request: v.unknown(),
    /** In a live replay: the model is asked once this is committed. @default the run ends */
    asks: v.optional(v.boolean()),
    /** Of a call of a model: the tokens that it may use at the most. */
    estimate: v.optional(usage),
  }),
  v.object({ ...common, type: v.literal('heartbeat') }),
  v.object({ ...common, type: v.literal('crew_stopping') }),
])

/**
 * One line that a crew writes about a run. `crew_completed`, `failed`, `handed_over`,
 * `approval_requested`, with which the run waits for a person, or `run_requested`, with which it
 * waits for a run of another automation, is the last one. `crew_stopping` announces that the crew
 * is being replaced: a stream that ends after it without a result is a run to hand over, not one
 * that broke.
 */
export type CrewEvent = v.InferOutput<typeof crewEvent>
/** The tokens that a step used. */
export type StepUsage = v.InferOutput<typeof usage>
/** The report of one model call. */
export type LlmCallEvent = Extract<CrewEvent, { type: 'llm_call' }>
/** A part of the text that a model is writing. It has no number: it is passed on and not kept. */
export type TextDelta = Extract<CrewEvent, { type: 'text_delta' }>
/** The report of one call of a tool. */
export type ToolCallEvent = Extract<CrewEvent, { type: 'tool_call' }>
/** The error with which a run failed on its crew. */
export type CrewFailure = v.InferOutput<typeof failure>
/** A message of a conversation with a model. */
export type CrewMessage = v.InferOutput<typeof message>

const kickoffFields = {
  kickoff_id: v.pipe(v.string(), v.uuid('must be a UUID')),
  inputs: v.record(v.string(), v.unknown()),
  /** The project version that is run. @default the one that the crew was deployed with */
  definition: v.optional(crewDefinition),
  /** By the name of the model. It holds keys: nothing of it is ever logged or shown. */
  models: v.optional(v.record(v.string(), modelEndpoint)),
  /** The connections of the version's tools, by name. Nothing of it is ever logged or shown. */
  connections: v.optional(handedConnections),
  /** By their ids, which inputs of the type `file` hold. */
  files: v.optional(kickoffFiles),
}

/** The body that a worker posts to the `/kickoff` of a crew that keeps no journal. */
export const kickoffRequest = v.strictObject(kickoffFields)
/** A kickoff, as a worker posts it. */
export type KickoffRequest = v.InferOutput<typeof kickoffRequest>

const recordedStep = v.object({
  step: key,
  kind: v.picklist(STEP_KINDS),
  result: v.unknown(),
  usage: v.optional(usage),
})
/** A finished step of a former attempt. */
export type RecordedStep = v.InferOutput<typeof recordedStep>

/** What a model, a tool or a person answered in a run that is performed again. */
const recordedAnswer = v.object({
  kind: v.picklist(STEP_KINDS),
  path: v.array(v.string()),
  /** SHA-256 of the request as canonical JSON (RFC 8785), in hexadecimal digits. */
  request_sha256: v.string(),
  result: v.optional(v.unknown()),
  /** It failed, in place of a result. */
  error: v.optional(failure),
  usage: v.optional(usage),
})
/** What a model, a tool or a person answered in a run that is performed again. */
export type RecordedAnswer = v.InferOutput<typeof recordedAnswer>

/**
 * The first line of a kickoff to a crew with the capability `journal`. Fields that a crew does not
 * know are for newer ones.
 */
export const journaledKickoff = v.object({
  ...kickoffFields,
  /** The id of the project version: a part of each step's key. */
  version: count,
  journal: v.array(recordedStep),
  /**
   * To a crew with the capability `replay`: nothing but these answers is there to be asked, and in
   * a live replay models.
   */
  replay: v.optional(v.object({ answers: v.array(recordedAnswer), live: v.optional(v.boolean()) })),
})
/** A kickoff with the finished steps of former attempts. */
export type JournaledKickoff = v.InferOutput<typeof journaledKickoff>

/**
 * A later line of that kickoff: all events up to `ack` are committed; `stop` asks the crew to end
 * with `handed_over` after the calls in flight, and comes before the ack of a step that may not
 * act; `connections` replaces tokens that are to end; `text_deltas` tells whether somebody follows
 * what the models write.
 */
export const kickoffLine = v.object({
  ack: v.optional(count),
  stop: v.optional(v.boolean()),
  text_deltas: v.optional(v.boolean()),
  connections: v.optional(handedConnections),
})
