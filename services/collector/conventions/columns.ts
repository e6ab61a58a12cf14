import type { OperationKind } from './kinds.ts'

import { USAGE_COLUMNS } from './usage-columns.ts'
import type { PromotedColumn } from './promoted-column.ts'

/**
 * The attributes that get a column of their own, and where each is looked for: OpenTelemetry's
 * GenAI conventions first, then their older names, OpenInference, OpenLLMetry, the Vercel AI SDK,
 * the crew runtime's own keys, and last those of which only a part is the value. A new row here
 * needs a migration that adds the column and ends with `select refresh_span_views();`.
 */
export const PROMOTED_COLUMNS: readonly PromotedColumn[] = [
  ...USAGE_COLUMNS,
  {
    column: 'operation',
    kind: 'text',
    keys: [
      'gen_ai.operation.name',
      'openinference.span.kind',
      'traceloop.span.kind',
      'langfuse.observation.type',
      'llm.request.type',
      'ai.operationId',
      'langsmith.span.kind',
      { json: 'mlflow.spanType' },
    ],
  },
  {
    column: 'provider',
    kind: 'text',
    keys: [
      'gen_ai.provider.name',
      'gen_ai.system',
      'llm.provider',
      'llm.system',
      'llm.vendor',
      'ai.model.provider',
      { json: 'mlflow.llm.provider' },
    ],
  },
  {
    column: 'request_model',
    kind: 'text',
    keys: [
      'gen_ai.request.model',
      'llm.request.model_name',
      'llm.model_name',
      'llm.request.model',
      'embedding.model_name',
      'reranker.model_name',
      'ai.model.id',
      'langfuse.observation.model.name',
      { json: 'mlflow.llm.model' },
    ],
  },
  {
    column: 'response_model',
    kind: 'text',
    keys: [
      'gen_ai.response.model',
      'llm.response.model_name',
      'llm.response.model',
      'ai.response.model',
    ],
  },
  {
    column: 'response_id',
    kind: 'text',
    keys: ['gen_ai.response.id', 'ai.response.id', 'llm.response.id'],
  },
  { column: 'title', kind: 'text', keys: ['logfire.msg'] },
  {
    column: 'agent',
    kind: 'text',
    keys: [
      'gen_ai.agent.name',
      'agent.name',
      'agent_role',
      'agent_name',
      // LangChain's agents, in OpenInference; before it, the node of their graph.
      { json: 'metadata', text: 'lc_agent_name' },
      'graph.node.id',
    ],
  },
  { column: 'task_id', kind: 'text', keys: ['task_id', 'gen_ai.task.id'] },
  {
    column: 'task',
    kind: 'text',
    keys: ['task_name', 'task_key', 'gen_ai.task.name', 'ai.telemetry.functionId'],
  },
  {
    column: 'tool',
    kind: 'text',
    keys: ['gen_ai.tool.name', 'tool.name', 'tool_name', 'ai.toolCall.name'],
  },
  { column: 'crew_id', kind: 'text', keys: ['crew_id'] },
  { column: 'kickoff_id', kind: 'text', keys: ['kickoff_id'] },
  {
    column: 'session_id',
    kind: 'text',
    keys: [
      'gen_ai.conversation.id',
      'session.id',
      'langfuse.session.id',
      'gcp.vertex.agent.session_id',
      'traceloop.association.properties.session_id',
      'ai.telemetry.metadata.sessionId',
      'mastra.metadata.sessionId',
    ],
  },
  {
    column: 'user_id',
    kind: 'text',
    keys: [
      'user.id',
      'enduser.id',
      'langfuse.user.id',
      'traceloop.association.properties.user_id',
      'ai.telemetry.metadata.userId',
      'mastra.metadata.userId',
      'gen_ai.user',
      'llm.user',
    ],
  },
  {
    column: 'workflow',
    kind: 'text',
    keys: ['gen_ai.workflow.name', 'traceloop.workflow.name'],
  },
  { column: 'error_type', kind: 'text', keys: ['error.type', 'exception.type'] },
]

/** The column with the library's word, from which the kind follows. */
export const OPERATION_COLUMN = 'operation'

/**
 * What a call of a model has even where no word calls it one: one of these columns of each. Nothing
 * else has both of its own: what wraps calls has their sum at most, and the totals leave it out.
 */
export const BARE_CALL = {
  kind: 'llm',
  models: ['request_model', 'response_model'],
  tokens: ['input_tokens', 'output_tokens'],
} as const

/** OpenLLMetry's name of a step: its column follows from the kind of the step. */
export const ENTITY_KEY = 'traceloop.entity.name'

/**
 * With this key as the operation's, the name of a step is that of its span: Langfuse has no other.
 */
export const NAMED_BY_SPAN = 'langfuse.observation.type'

/**
 * The conventions of OpenTelemetry name a workflow as an agent since they have a release of their
 * own: with this operation the name of the agent is that of the workflow, unless that has one.
 */
export const WORKFLOW = { word: 'invoke_workflow', from: 'agent', to: 'workflow' } as const

/** The column that gets the name of a step of this kind when nothing else gives it. */
export const ENTITY_COLUMNS: Readonly<Partial<Record<OperationKind, string>>> = {
  tool: 'tool',
  agent: 'agent',
  task: 'task',
}
