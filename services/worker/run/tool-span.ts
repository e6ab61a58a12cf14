import { SpanKind } from '@opentelemetry/api'
import type { Attributes } from '@opentelemetry/api'
import type { ToolCallEvent } from '../../platform/crew-contract/crew-protocol.ts'

/** The types of tools that call another service. */
const REMOTE = new Set(['mcp', 'http', 'fetch'])

/**
 * The name, the kind and the attributes of a tool call's span, as the OpenTelemetry GenAI
 * conventions have them.
 */
export function describeToolCall(event: ToolCallEvent): {
  name: string
  kind: SpanKind
  attributes: Attributes
} {
  const isRemote = REMOTE.has(event.tool_type ?? '')
  return {
    name: `execute_tool ${event.name}`,
    kind: isRemote ? SpanKind.CLIENT : SpanKind.INTERNAL,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': event.name,
      'gen_ai.tool.type': isRemote ? 'extension' : 'function',
      'gen_ai.tool.call.id': event.call_id,
      'gen_ai.tool.call.arguments': event.arguments,
      'gen_ai.tool.call.result': event.result,
      'gen_ai.agent.id': event.agent,
      task_key: event.task,
    },
  }
}
