/** Where messages are looked for, and how they lie there. */
export type MessageSource =
  /** Attributes whose JSON, or text, holds messages; all of them together. */
  | { readonly documents: readonly string[] }
  /** Attributes `prefix.N.…` of one message each. */
  | { readonly prefix: string }
  /** An attribute that is an array of such messages of span events. */
  | { readonly events: string }
  /** An attribute that is a plain text, whatever it looks like. */
  | { readonly text: string }

/** The sources of each side in their order: the first that yields a message wins. */
interface MessageKeys {
  /** The instructions of the system; they come before the messages. */
  readonly instructions: readonly string[]
  readonly input: readonly MessageSource[]
  readonly output: readonly MessageSource[]
}

/**
 * OpenTelemetry's GenAI conventions first, then OpenInference, OpenLLMetry, the Vercel AI SDK,
 * Langfuse, MLflow, Google ADK, pydantic-ai, what any span may have, Mastra, and last logfire.
 */
export const MESSAGE_KEYS: MessageKeys = {
  instructions: ['gen_ai.system_instructions'],
  input: [
    { documents: ['gen_ai.input.messages'] },
    { prefix: 'llm.input_messages.' },
    { prefix: 'gen_ai.prompt.' },
    { prefix: 'llm.prompts.' },
    { documents: ['ai.prompt.messages'] },
    { documents: ['ai.prompt'] },
    { documents: ['langfuse.observation.input'] },
    { documents: ['mlflow.spanInputs'] },
    { documents: ['gcp.vertex.agent.llm_request'] },
    { events: 'events' },
    { documents: ['gen_ai.prompt'] },
    { documents: ['gen_ai.agent.invocation_input'] },
    { documents: ['gen_ai.tool.call.arguments'] },
    { documents: ['gen_ai.retrieval.query.text'] },
    { documents: ['ai.toolCall.args'] },
    { documents: ['ai.value'] },
    { documents: ['ai.values'] },
    { documents: ['input.value'] },
    { documents: ['traceloop.entity.input'] },
    { documents: ['tool_arguments'] },
    { documents: ['gcp.vertex.agent.tool_call_args'] },
    { documents: ['crew_inputs'] },
    ...['agent_run', 'workflow_run', 'workflow_step', 'model_generation', 'model_step'].map(
      (type) => ({ documents: [`mastra.${type}.input`] }),
    ),
    { documents: ['input'] },
    { text: 'formatted_description' },
  ],
  output: [
    { documents: ['gen_ai.output.messages'] },
    { prefix: 'llm.output_messages.' },
    { prefix: 'gen_ai.completion.' },
    { prefix: 'llm.completions.' },
    { prefix: 'llm.choices.' },
    { documents: ['ai.response.reasoning', 'ai.response.text', 'ai.response.toolCalls'] },
    { text: 'ai.response.object' },
    { documents: ['langfuse.observation.output'] },
    { documents: ['mlflow.spanOutputs'] },
    { documents: ['gcp.vertex.agent.llm_response'] },
    { events: 'events' },
    { documents: ['gen_ai.completion'] },
    { documents: ['gen_ai.agent.invocation_output'] },
    { documents: ['gen_ai.tool.call.result'] },
    { documents: ['ai.toolCall.result'] },
    { documents: ['output.value'] },
    { documents: ['traceloop.entity.output'] },
    { documents: ['tool_response'] },
    { documents: ['gcp.vertex.agent.tool_response'] },
    { documents: ['final_result'] },
    ...['agent_run', 'workflow_run', 'workflow_step', 'model_generation', 'model_step'].map(
      (type) => ({ documents: [`mastra.${type}.output`] }),
    ),
    { documents: ['mastra.model_chunk.output'] },
    { documents: ['output'] },
  ],
}

/** The attribute whose text is no message but what the model thought. */
export const REASONING_KEY = 'ai.response.reasoning'

/** Events of spans: the side and the role of each; a role in the event itself wins. */
export const MESSAGE_EVENTS: Readonly<Record<string, { side: 'input' | 'output'; role: string }>> =
  {
    'gen_ai.system.message': { side: 'input', role: 'system' },
    'gen_ai.user.message': { side: 'input', role: 'user' },
    'gen_ai.assistant.message': { side: 'input', role: 'assistant' },
    'gen_ai.tool.message': { side: 'input', role: 'tool' },
    'gen_ai.choice': { side: 'output', role: 'assistant' },
    'gen_ai.content.prompt': { side: 'input', role: 'user' },
    'gen_ai.content.completion': { side: 'output', role: 'assistant' },
  }

/** Roles that have another name here. */
export const ROLES: Readonly<Record<string, string>> = {
  model: 'assistant',
  ai: 'assistant',
  human: 'user',
}

/** Items of the Responses API, and LangChain's messages, have their role in their type. */
export const ROLES_BY_TYPE: Readonly<Record<string, string>> = {
  system: 'system',
  human: 'user',
  user: 'user',
  ai: 'assistant',
  assistant: 'assistant',
  tool: 'tool',
  function_call: 'assistant',
  function_call_output: 'tool',
  reasoning: 'assistant',
}

/** Names of members, in the order in which they are looked for. */
export const MEMBERS = {
  /** An object around a message. */
  wrappers: ['message', 'kwargs', 'completion'],
  /** An object around a part. */
  partWrappers: ['message_content', 'tool_call', 'reasoningContent'],
  role: ['role'],
  content: ['parts', 'contents', 'content', 'text'],
  calls: ['tool_calls', 'toolCalls'],
  call: ['function_call', 'functionCall'],
  callId: ['tool_call_id', 'toolCallId'],
  /** Instructions of the system in a request. */
  instructions: ['system', 'instructions', 'system_instruction', 'systemInstruction'],
  /** Lists of messages in a request or an answer. */
  lists: [
    'messages',
    'contents',
    'input',
    'prompt',
    'choices',
    'candidates',
    'generations',
    'output',
  ],
  text: ['text', 'content', 'thinking', 'reasoning', 'refusal', 'summary'],
  id: ['id', 'call_id', 'tool_call_id', 'toolCallId', 'tool_use_id', 'toolUseId'],
  name: ['name', 'toolName', 'tool_name'],
  arguments: ['arguments', 'args', 'input', 'parameters'],
  result: ['response', 'result', 'content', 'output', 'text'],
  url: ['uri', 'url', 'image_url', 'file_uri', 'fileUri', 'image', 'data', 'content', 'bytes'],
  mimeType: ['mime_type', 'mimeType', 'media_type', 'mediaType', 'modality'],
} as const

/** The meaning of a part's `type`, or of the only member that names it. */
export const PART_TYPES: Readonly<
  Record<string, 'text' | 'reasoning' | 'call' | 'result' | 'image'>
> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'text',
  reasoning: 'reasoning',
  thinking: 'reasoning',
  reasoning_content: 'reasoning',
  summary_text: 'reasoning',
  reasoningText: 'reasoning',
  tool_call: 'call',
  'tool-call': 'call',
  tool_use: 'call',
  function: 'call',
  function_call: 'call',
  functionCall: 'call',
  server_tool_use: 'call',
  toolUse: 'call',
  tool_call_response: 'result',
  tool_result: 'result',
  'tool-result': 'result',
  function_call_output: 'result',
  function_response: 'result',
  functionResponse: 'result',
  toolResult: 'result',
  image: 'image',
  image_url: 'image',
  input_image: 'image',
  uri: 'image',
  blob: 'image',
  inline_data: 'image',
  inlineData: 'image',
  file_data: 'image',
  fileData: 'image',
}

/** The blocks of Bedrock's Converse API, which have no type but their only member. */
export const BLOCKS: readonly string[] = [
  'text',
  'toolUse',
  'toolResult',
  'reasoningContent',
  'image',
  'cachePoint',
]
