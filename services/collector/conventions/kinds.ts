/** The kinds of the steps of a crew, whichever library names them. */
export const OPERATION_KINDS = [
  'llm',
  'embedding',
  'tool',
  'agent',
  'task',
  'retriever',
  'reranker',
  'guardrail',
  'other',
] as const

/** One of `OPERATION_KINDS`. */
export type OperationKind = (typeof OPERATION_KINDS)[number]

/**
 * The kinds that are a call of a model: their tokens cost money, so totals count them. Agents,
 * tasks and tools carry models and tokens too, but those of the calls inside them.
 */
export const MODEL_KINDS: readonly OperationKind[] = ['llm', 'embedding', 'reranker']

/**
 * The words for each kind, in small letters; they are found in any case of letters. A word stands
 * in one of the attributes of the column `operation`. One that is not listed, such as `chain`,
 * `invoke_workflow`, `evaluator` or `unknown`, is `other`.
 */
export const KIND_WORDS: Readonly<Record<OperationKind, readonly string[]>> = {
  llm: [
    // OpenTelemetry GenAI
    'chat',
    'text_completion',
    'generate_content',
    'generate_live_content',
    // OpenInference; OpenLLMetry; Langfuse; MLflow
    'llm',
    'completion',
    'generation',
    'chat_model',
    // Semantic Kernel
    'chat.completions',
    'chat.streaming_completions',
    'text.completions',
    'text.streaming_completions',
    'text_completions',
    // LiteLLM: the function that was called
    'acompletion',
    'atext_completion',
    'responses',
    'aresponses',
    'anthropic_messages',
    'agenerate_content',
    'generate_content_stream',
    'agenerate_content_stream',
    'image_generation',
    'aimage_generation',
    'transcription',
    'atranscription',
    'speech',
    'aspeech',
    // Google ADK
    'call_llm',
    // Vercel AI SDK
    'ai.generatetext.dogenerate',
    'ai.streamtext.dostream',
    'ai.generateobject.dogenerate',
    'ai.streamobject.dostream',
  ],
  embedding: [
    'embeddings',
    'embedding',
    'aembedding',
    'text_embedding',
    'ai.embed.doembed',
    'ai.embedmany.doembed',
  ],
  tool: ['execute_tool', 'tool', 'tool_call', 'call_mcp_tool', 'function', 'ai.toolcall'],
  // With `ai.generateText` the Vercel AI SDK runs model and tools in turns.
  agent: ['invoke_agent', 'create_agent', 'agent', 'ai.generatetext', 'ai.streamtext'],
  task: ['task', 'execute_task'],
  retriever: [
    'retrieval',
    'retriever',
    'retrieve',
    'search_memory',
    'memory',
    'vector_store',
    'asearch',
  ],
  reranker: ['reranker', 'rerank', 'arerank', 'ai.rerank.dorerank'],
  guardrail: ['guardrail', 'guardrails', 'apply_guardrail', 'moderation', 'amoderation'],
  other: [],
}

/** The kinds of a library's spans by their names. */
interface NamedKinds {
  /** The name of the instrumentation scope, as the library has it. */
  readonly scope: string
  /** By the name of the span; a name that ends with `*` stands for all that begin so. */
  readonly names: Readonly<Record<string, OperationKind>>
}

/** For spans without a word: names of libraries that give nothing else. */
export const KINDS_BY_NAME: readonly NamedKinds[] = [
  {
    scope: 'crewai.telemetry',
    names: {
      'Task Execution': 'task',
      'Tool Usage': 'tool',
      'Tool Repeated Usage': 'tool',
      'Tool Usage Error': 'tool',
    },
  },
  {
    scope: 'gcp.vertex.agent',
    names: {
      call_llm: 'llm',
      'execute_tool*': 'tool',
      'agent_run*': 'agent',
      'invoke_agent*': 'agent',
    },
  },
  {
    scope: 'pydantic-ai',
    names: {
      'agent run': 'agent',
      'running tool': 'tool',
      'running output function': 'tool',
    },
  },
  {
    scope: 'logfire.openai_agents',
    names: { 'Agent run: {name!r}': 'agent', 'Function: {name}': 'tool' },
  },
  {
    scope: 'litellm',
    names: { guardrail: 'guardrail', litellm_request: 'llm' },
  },
]
