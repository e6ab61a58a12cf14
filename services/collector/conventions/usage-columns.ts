import type { JsonSum, PromotedColumn } from './promoted-column.ts'

const LANGFUSE_USAGE = 'langfuse.observation.usage_details'
const LANGFUSE_COST = 'langfuse.observation.cost_details'
const MLFLOW_USAGE = 'mlflow.chat.tokenUsage'
const MLFLOW_COST = 'mlflow.llm.cost'
const VERCEL_METADATA = 'ai.response.providerMetadata'

const langfuse = (member: string, ...plus: string[]): JsonSum => ({
  json: LANGFUSE_USAGE,
  member,
  plus,
})
/** The Vercel AI SDK 4 passes on what the provider calls them. */
const vercel = (member: string): JsonSum => ({ json: VERCEL_METADATA, member, plus: [] })
/** logfire passes on the usage of OpenAI's API, under one key or two. */
const raw = (member: string): JsonSum[] =>
  ['gen_ai.usage.raw', 'usage'].map((json) => ({ json, member, plus: [] }))
const mlflow = (member: string): JsonSum => ({ json: MLFLOW_USAGE, member, plus: [] })

const MODALITIES = ['text', 'audio', 'image', 'video', 'document']
const byModality = (prefix: string): string[] =>
  MODALITIES.flatMap((name) => [`${prefix}_${name}`, `${prefix}_${name.toUpperCase()}`])

/**
 * The columns of tokens and cost. `input_tokens` includes those that were read from the cache or
 * written to it, as OpenTelemetry has it; `output_tokens` includes reasoning.
 */
export const USAGE_COLUMNS: readonly PromotedColumn[] = [
  {
    column: 'input_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
      'llm.usage.prompt_tokens',
      'ai.usage.inputTokens',
      'ai.usage.promptTokens',
      'ai.usage.tokens',
      // As OpenAI says it, then Anthropic, whose count leaves the cache out, then LangChain.
      langfuse('prompt_tokens'),
      langfuse('input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
      langfuse(
        'input',
        'input_cached_tokens',
        'input_cache_read',
        'input_cache_creation',
        'input_ephemeral_5m_input_tokens',
        'input_ephemeral_1h_input_tokens',
        'cache_read_input_tokens',
        'cache_creation_input_tokens',
        'input_audio',
        'input_audio_tokens',
        ...byModality('input_modality'),
        ...byModality('cached_modality'),
      ),
      mlflow('input_tokens'),
    ],
  },
  {
    column: 'output_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'llm.usage.completion_tokens',
      'ai.usage.outputTokens',
      'ai.usage.completionTokens',
      langfuse('completion_tokens'),
      langfuse('output_tokens'),
      langfuse(
        'output',
        'output_reasoning',
        'output_reasoning_tokens',
        'output_audio',
        'output_audio_tokens',
        ...byModality('output_modality'),
      ),
      mlflow('output_tokens'),
    ],
  },
  {
    column: 'cache_read_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'gen_ai.usage.details.cache_read_tokens',
      'gen_ai.usage.details.cached_tokens',
      'llm.token_count.prompt_details.cache_read',
      'llm.token_count.prompt_details.cache_input',
      'ai.usage.inputTokenDetails.cacheReadTokens',
      'ai.usage.cachedInputTokens',
      langfuse('prompt_tokens_details.cached_tokens'),
      langfuse('input_tokens_details.cached_tokens'),
      langfuse('input_cached_tokens'),
      langfuse('input_cache_read'),
      langfuse('cache_read_input_tokens'),
      langfuse('cached_modality_text', ...byModality('cached_modality').slice(2)),
      langfuse('cached_modality_TEXT', ...byModality('cached_modality').slice(2)),
      mlflow('cache_read_input_tokens'),
      vercel('openai.cachedPromptTokens'),
      vercel('anthropic.cacheReadInputTokens'),
      ...raw('input_tokens_details.cached_tokens'),
      ...raw('prompt_tokens_details.cached_tokens'),
    ],
  },
  {
    column: 'cache_write_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'gen_ai.usage.cache_write_input_tokens',
      'gen_ai.usage.details.cache_write_tokens',
      'llm.token_count.prompt_details.cache_write',
      'ai.usage.inputTokenDetails.cacheWriteTokens',
      langfuse(
        'input_cache_creation',
        'input_ephemeral_5m_input_tokens',
        'input_ephemeral_1h_input_tokens',
      ),
      langfuse('input_ephemeral_5m_input_tokens', 'input_ephemeral_1h_input_tokens'),
      langfuse('input_ephemeral_1h_input_tokens'),
      langfuse('cache_creation_input_tokens'),
      mlflow('cache_creation_input_tokens'),
      vercel('anthropic.cacheCreationInputTokens'),
    ],
  },
  {
    column: 'reasoning_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.reasoning.output_tokens',
      'gen_ai.usage.reasoning_tokens',
      'gen_ai.usage.details.reasoning_tokens',
      'gen_ai.usage.details.thoughts_tokens',
      'gen_ai.usage.experimental.reasoning_tokens',
      'llm.token_count.completion_details.reasoning',
      'llm.usage.reasoning_tokens',
      'ai.usage.outputTokenDetails.reasoningTokens',
      'ai.usage.reasoningTokens',
      langfuse('completion_tokens_details.reasoning_tokens'),
      langfuse('output_tokens_details.reasoning_tokens'),
      langfuse('output_reasoning_tokens'),
      langfuse('output_reasoning'),
      vercel('openai.reasoningTokens'),
      ...raw('output_tokens_details.reasoning_tokens'),
      ...raw('completion_tokens_details.reasoning_tokens'),
    ],
  },
  {
    column: 'audio_input_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.audio.input_tokens',
      'gen_ai.usage.input_audio_tokens',
      'gen_ai.usage.details.input_audio_tokens',
      'llm.token_count.prompt_details.audio',
      langfuse('prompt_tokens_details.audio_tokens'),
      langfuse('input_tokens_details.audio_tokens'),
      langfuse('input_audio_tokens'),
      langfuse('input_audio'),
      langfuse('input_modality_audio'),
      langfuse('input_modality_AUDIO'),
      ...raw('prompt_tokens_details.audio_tokens'),
    ],
  },
  {
    column: 'audio_output_tokens',
    kind: 'count',
    keys: [
      'gen_ai.usage.audio.output_tokens',
      'gen_ai.usage.output_audio_tokens',
      'gen_ai.usage.details.output_audio_tokens',
      'llm.token_count.completion_details.audio',
      langfuse('completion_tokens_details.audio_tokens'),
      langfuse('output_tokens_details.audio_tokens'),
      langfuse('output_audio_tokens'),
      langfuse('output_audio'),
      langfuse('output_modality_audio'),
      langfuse('output_modality_AUDIO'),
      ...raw('completion_tokens_details.audio_tokens'),
    ],
  },
  {
    column: 'cost_usd',
    kind: 'number',
    keys: [
      'llm.cost.total',
      'gen_ai.usage.cost',
      'gen_ai.cost.total_cost',
      'operation.cost',
      { json: LANGFUSE_COST, member: 'total', plus: [] },
      { json: LANGFUSE_COST, member: 'input', plus: ['output'] },
      { json: MLFLOW_COST, member: 'total_cost', plus: [] },
    ],
  },
]
