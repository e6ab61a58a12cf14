import { SpanKind } from '@opentelemetry/api'
import type { Attributes } from '@opentelemetry/api'
import type { CrewMessage, LlmCallEvent } from '../../platform/crew-contract/crew-protocol.ts'

/**
 * The name and the attributes of an LLM call's span, as the OpenTelemetry GenAI conventions have
 * them (SPEC 9).
 */
export function describeLlmCall(event: LlmCallEvent): {
  name: string
  kind: SpanKind
  attributes: Attributes
} {
  return {
    name: `chat ${event.request_model}`,
    kind: SpanKind.CLIENT,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.output.type': 'text',
      'gen_ai.provider.name': event.provider,
      'gen_ai.agent.id': event.agent,
      'gen_ai.request.model': event.request_model,
      'gen_ai.response.model': event.response_model,
      'gen_ai.response.id': event.response_id,
      'gen_ai.response.finish_reasons':
        event.finish_reason === undefined ? undefined : [event.finish_reason],
      'gen_ai.usage.input_tokens': event.input_tokens,
      'gen_ai.usage.output_tokens': event.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': event.cached_input_tokens,
      'gen_ai.usage.reasoning.output_tokens': event.reasoning_output_tokens,
      'gen_ai.input.messages': messages(event.messages_in),
      'gen_ai.output.messages':
        event.messages_out.length === 0
          ? undefined
          : messages(event.messages_out, event.finish_reason),
      'server.address': event.server_address,
      'server.port': event.server_port,
      'http.request.resend_count': event.attempts > 1 ? event.attempts - 1 : undefined,
      task_key: event.task,
    },
  }
}

/** The conventions' JSON of a conversation: each message is made of parts. */
function messages(said: LlmCallEvent['messages_in'], finish_reason?: string): string {
  return JSON.stringify(
    said.map((message) => ({ role: message.role, parts: partsOf(message), finish_reason })),
  )
}

function partsOf({ content, tool_calls = [], tool_call_id }: CrewMessage) {
  if (tool_call_id !== undefined) {
    return [{ type: 'tool_call_response', id: tool_call_id, response: content }]
  }
  const calls = tool_calls.map(({ id, name, arguments: given }) => ({
    type: 'tool_call',
    id,
    name,
    arguments: given,
  }))
  return content === '' && calls.length > 0 ? calls : [{ type: 'text', content }, ...calls]
}
