import { PROMOTED_COLUMNS } from './columns.ts'

/**
 * Attributes that are not stored a second time where their column has their value as it is, in the
 * order of the codes by which rows name them: the first one is 1. The function `whole_attributes`
 * of the database has the same, so new ones come last, with a migration. None is here that messages
 * are read from.
 */
export const LEFT_OUT_KEYS: readonly string[] = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.prompt_tokens',
  'llm.token_count.prompt',
  'llm.usage.prompt_tokens',
  'ai.usage.inputTokens',
  'ai.usage.promptTokens',
  'ai.usage.tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.completion_tokens',
  'llm.token_count.completion',
  'llm.usage.completion_tokens',
  'ai.usage.outputTokens',
  'ai.usage.completionTokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'gen_ai.usage.details.cache_read_tokens',
  'gen_ai.usage.details.cached_tokens',
  'llm.token_count.prompt_details.cache_read',
  'llm.token_count.prompt_details.cache_input',
  'ai.usage.inputTokenDetails.cacheReadTokens',
  'ai.usage.cachedInputTokens',
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.cache_write_input_tokens',
  'gen_ai.usage.details.cache_write_tokens',
  'llm.token_count.prompt_details.cache_write',
  'ai.usage.inputTokenDetails.cacheWriteTokens',
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.usage.reasoning_tokens',
  'gen_ai.usage.details.reasoning_tokens',
  'gen_ai.usage.details.thoughts_tokens',
  'gen_ai.usage.experimental.reasoning_tokens',
  'llm.token_count.completion_details.reasoning',
  'llm.usage.reasoning_tokens',
  'ai.usage.outputTokenDetails.reasoningTokens',
  'ai.usage.reasoningTokens',
  'gen_ai.usage.audio.input_tokens',
  'gen_ai.usage.input_audio_tokens',
  'gen_ai.usage.details.input_audio_tokens',
  'llm.token_count.prompt_details.audio',
  'gen_ai.usage.audio.output_tokens',
  'gen_ai.usage.output_audio_tokens',
  'gen_ai.usage.details.output_audio_tokens',
  'llm.token_count.completion_details.audio',
  'openinference.span.kind',
  'traceloop.span.kind',
  'langfuse.observation.type',
  'llm.request.type',
  'ai.operationId',
  'langsmith.span.kind',
  'gen_ai.provider.name',
  'gen_ai.system',
  'llm.provider',
  'llm.system',
  'llm.vendor',
  'ai.model.provider',
  'gen_ai.request.model',
  'llm.request.model_name',
  'llm.model_name',
  'llm.request.model',
  'embedding.model_name',
  'reranker.model_name',
  'ai.model.id',
  'langfuse.observation.model.name',
  'gen_ai.response.model',
  'llm.response.model_name',
  'llm.response.model',
  'ai.response.model',
  'gen_ai.response.id',
  'ai.response.id',
  'llm.response.id',
  'logfire.msg',
  'gen_ai.agent.name',
  'agent.name',
  'agent_role',
  'agent_name',
  'graph.node.id',
  'task_id',
  'gen_ai.task.id',
  'task_name',
  'task_key',
  'gen_ai.task.name',
  'ai.telemetry.functionId',
  'gen_ai.tool.name',
  'tool.name',
  'tool_name',
  'ai.toolCall.name',
  'crew_id',
  'kickoff_id',
  'gen_ai.conversation.id',
  'session.id',
  'langfuse.session.id',
  'gcp.vertex.agent.session_id',
  'traceloop.association.properties.session_id',
  'ai.telemetry.metadata.sessionId',
  'mastra.metadata.sessionId',
  'user.id',
  'enduser.id',
  'langfuse.user.id',
  'traceloop.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'mastra.metadata.userId',
  'gen_ai.user',
  'llm.user',
  'gen_ai.workflow.name',
  'traceloop.workflow.name',
  'error.type',
  'exception.type',
]

/** The column of a promoted attribute whose value is that of the column, not a part of it. */
const columnOf = (key: string): string =>
  PROMOTED_COLUMNS.find(({ keys }) => keys.includes(key))?.column ?? ''

/** Their columns, in the order of the keys. */
export const LEFT_OUT_COLUMNS: readonly string[] = LEFT_OUT_KEYS.map(columnOf)

const IN_COLUMNS = [...new Set(LEFT_OUT_COLUMNS)]

/** The columns that may have what is left out of the attributes, each once. */
export const KEPT_COLUMNS: readonly string[] = PROMOTED_COLUMNS.map(({ column }) => column).filter(
  (column) => IN_COLUMNS.includes(column),
)

/** The whole attributes of a row of `spans`, in SQL: see the migration that made the function. */
export const wholeAttributesOf = (table: string): string =>
  `case when ${table}.left_out is null then ${table}.attributes
    else whole_attributes(${table}.attributes, ${table}.left_out, array[${IN_COLUMNS.map(
      (column) => `${table}.${column}::text`,
    ).join(', ')}]) end`

/** The code of an attribute that may be left out, and its column; undefined for others. */
export function findLeftOut(key: string): { code: number; column: string } | undefined {
  const place = LEFT_OUT_KEYS.indexOf(key)
  const column = LEFT_OUT_COLUMNS[place]
  return column === undefined ? undefined : { code: place + 1, column }
}
