import type { Tape } from './tape.ts'

/**
 * The attributes that get a column of their own, and where each is looked for: OpenTelemetry's GenAI conventions first,
 * then their older names, OpenInference and the crew runtime's own keys. The first key that a span has wins.
 */
const COUNT_KEYS = {
  input_tokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'llm.usage.prompt_tokens',
  ],
  output_tokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'llm.usage.completion_tokens',
  ],
  cache_read_tokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'llm.token_count.prompt_details.cache_read',
  ],
  cache_write_tokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'llm.token_count.prompt_details.cache_write',
  ],
  reasoning_tokens: [
    'gen_ai.usage.reasoning.output_tokens',
    'llm.token_count.completion_details.reasoning',
  ],
}

const NUMBER_KEYS = {
  cost_usd: ['llm.cost.total', 'gen_ai.usage.cost'],
}

const TEXT_KEYS = {
  operation: [
    'gen_ai.operation.name',
    'openinference.span.kind',
    'traceloop.span.kind',
    'langfuse.observation.type',
  ],
  provider: ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system'],
  request_model: [
    'gen_ai.request.model',
    'llm.request.model_name',
    'llm.model_name',
    'langfuse.observation.model.name',
  ],
  response_model: ['gen_ai.response.model', 'llm.response.model_name'],
  agent: ['gen_ai.agent.name', 'agent.name', 'agent_role', 'graph.node.id'],
  task_id: ['task_id'],
  task: ['task_name', 'task_key'],
  tool: ['gen_ai.tool.name', 'tool.name', 'tool_name'],
  crew_id: ['crew_id'],
  kickoff_id: ['kickoff_id'],
  session_id: ['gen_ai.conversation.id', 'session.id'],
  user_id: ['user.id'],
  error_type: ['error.type', 'exception.type'],
}

/**
 * The operations and span kinds that are a call of a model. Agents, tasks and tools carry model names too, so a model
 * name says nothing; counting their tokens would count the calls inside them twice.
 */
const LLM_OPERATIONS = new Set([
  'chat',
  'text_completion',
  'generate_content',
  'completion',
  'llm',
  'generation',
])

export const isLlmOperation = (operation: string): boolean =>
  LLM_OPERATIONS.has(operation.toLowerCase())

export const COUNT_COLUMNS = Object.keys(COUNT_KEYS)
export const NUMBER_COLUMNS = Object.keys(NUMBER_KEYS)
export const TEXT_COLUMNS = Object.keys(TEXT_KEYS)

/** The keys of each promoted column, best first, in the order of the three lists above. */
export const ALL_KEYS: readonly (readonly string[])[] = [
  ...Object.values(COUNT_KEYS),
  ...Object.values(NUMBER_KEYS),
  ...Object.values(TEXT_KEYS),
]

/** Promoted columns, in the order of the three lists above. */
export const PROMOTED_COUNT = ALL_KEYS.length
export const FIRST_NUMBER = COUNT_COLUMNS.length
export const FIRST_TEXT = FIRST_NUMBER + NUMBER_COLUMNS.length
export const OPERATION = FIRST_TEXT + TEXT_COLUMNS.indexOf('operation')

interface PromotedKey {
  readonly bytes: DataView
  readonly hash: number
  /** Index among the promoted columns. */
  readonly column: number
  /** Place in the column's list: 0 wins over 1. */
  readonly rank: number
}

/** A cheap hash that tells keys of one length apart by twelve of their bytes; equality is always checked as well. */
export function hashKey(view: DataView, from: number, end: number): number {
  const size = end - from
  let hash = size
  if (size >= 4) {
    hash = Math.imul(hash ^ view.getInt32(from, true), 0x2c1b3c6d)
    hash = Math.imul(hash ^ view.getInt32(end - 4, true), 0x297a2d39)
    hash = Math.imul(hash ^ view.getInt32(from + ((size - 4) >> 1), true), 0x45d9f3b)
  } else {
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ view.getUint8(i), 0x2c1b3c6d)
  }
  return (hash ^ (hash >>> 15)) & 0x7fffffff
}

/** True when the scanned key has the bytes that lie at `from` in `view`; both have the same length. */
export function isSameKey(tape: Tape, view: DataView, from: number): boolean {
  const { srcView, keyFrom, keyEnd } = tape
  const size = keyEnd - keyFrom
  let i = 0
  for (; i + 4 <= size; i += 4) {
    if (srcView.getInt32(keyFrom + i) !== view.getInt32(from + i)) return false
  }
  for (; i < size; i++) {
    if (srcView.getUint8(keyFrom + i) !== view.getUint8(from + i)) return false
  }
  return true
}

function promotedKey(key: string, column: number, rank: number): PromotedKey {
  const bytes = Buffer.from(key)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return { bytes: view, hash: hashKey(view, 0, bytes.length), column, rank }
}

const SLOTS = 1024
const TABLE = buildTable()

function buildTable(): (PromotedKey | undefined)[] {
  const table = Array.from<PromotedKey | undefined>({ length: SLOTS })
  ALL_KEYS.forEach((keys, column) => {
    keys.forEach((key, rank) => {
      const promoted = promotedKey(key, column, rank)
      let slot = promoted.hash % SLOTS
      while (table[slot]) slot = (slot + 1) % SLOTS
      table[slot] = promoted
    })
  })
  return table
}

/** The promoted key that the scanned key is, if it is one. */
export function findPromotedKey(tape: Tape, hash: number): PromotedKey | undefined {
  const size = tape.keyEnd - tape.keyFrom
  for (let slot = hash % SLOTS; ; slot = (slot + 1) % SLOTS) {
    const candidate = TABLE[slot]
    if (!candidate) return undefined
    const isCandidate = candidate.hash === hash && candidate.bytes.byteLength === size
    if (isCandidate && isSameKey(tape, candidate.bytes, 0)) return candidate
  }
}
