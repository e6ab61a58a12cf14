import { readCall } from '../../platform/model-calls/call-fields.ts'
import type { RecordedCall } from '../../platform/model-calls/recorded-call.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Message, SpanView } from '../../shared/trace-answers/one-trace.ts'

/** Returns true for a span of a call of a model that recorded what was asked. */
export const isSpanCall = ({ columns, messages }: SpanView): boolean =>
  typeof columns['request_model'] === 'string' && messages.input.length > 0

/** Reads a call of a model of what its span says, whichever library wrote it. */
export function readSpanCall(view: SpanView): RecordedCall {
  const { span, columns, messages } = view
  const attributes = new Map(span.attributes.map(({ key, value }) => [key, plainOf(value)]))
  const { request_model: asked, input_tokens: input, output_tokens: output } = columns
  const model = typeof asked === 'string' ? asked : ''
  const [task, agent] = ['task_key', 'gen_ai.agent.id'].map((key) => attributes.get(key))
  const end = span.endTimeUnixNano
  const said = messages.output.flatMap(({ content }) => content)
  return {
    model,
    path: [span.name],
    place: typeof task === 'string' && typeof agent === 'string' ? { task, agent } : undefined,
    asked: readAsked(view, model, attributes),
    answer:
      said.length === 0
        ? null
        : {
            text: said.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n'),
            toolCalls: said.flatMap((part) =>
              part.type === 'tool_call'
                ? { name: part.name, arguments: jsonText(part.arguments) }
                : [],
            ),
          },
    error:
      span.status.code === 2
        ? { code: 'error', message: span.status.message ?? 'The call failed.' }
        : null,
    usage:
      typeof input === 'number' && typeof output === 'number'
        ? { input_tokens: input, output_tokens: output }
        : null,
    ms:
      end === undefined
        ? null
        : Math.round(Number(BigInt(end) - BigInt(span.startTimeUnixNano)) / 1e6),
  }
}

function readAsked(
  view: SpanView,
  model: string,
  attributes: ReadonlyMap<string, unknown>,
): RecordedCall['asked'] {
  if (view.truncated) {
    return { why: 'The span is too large to be read back: what the model was asked is left out.' }
  }
  if (!isSpanCall(view)) {
    return {
      why:
        'The span has no model with messages: it is of no call of a model, its sender does not ' +
        'record them, or they were redacted or erased.',
    }
  }
  const { input } = view.messages
  const parameter = (name: string) => {
    const value = attributes.get(`gen_ai.request.${name}`)
    return typeof value === 'number' ? { [name]: value } : {}
  }
  const given = attributes.get('gen_ai.tool.definitions')
  const request = { model, ...parameter('temperature'), ...parameter('max_tokens') }
  const messages = input.flatMap(toMessages)
  const call =
    readCall({ ...request, messages, tools: parseJson(given) ?? [] }) ??
    readCall({ ...request, messages })
  if (!call) return { why: 'The span records its messages in a form that cannot be sent again.' }
  const images = input.flatMap(({ content }) => content).filter(({ type }) => type === 'image')
  return { ...call, images: images.length }
}

/** Results of tools are messages of their own to a model; what it reasoned is its own matter. */
function toMessages({ role, content }: Message): object[] {
  const results = content.flatMap((part) =>
    part.type === 'tool_result'
      ? { role: 'tool', tool_call_id: part.id ?? '', content: part.content }
      : [],
  )
  const texts = content.flatMap((part) => (part.type === 'text' ? part.text : []))
  if (role === 'tool' && results.length > 0) return results
  const calls = content.flatMap((part) =>
    part.type === 'tool_call'
      ? {
          id: part.id ?? part.name,
          type: 'function',
          function: { name: part.name, arguments: jsonText(part.arguments) },
        }
      : [],
  )
  const own = {
    role,
    content: texts.join('\n'),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  return texts.length > 0 || calls.length > 0 ? [own, ...results] : results
}

const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {})

function parseJson(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

/** A text or a number of OTLP's JSON encoding; whole numbers are texts in it. */
function plainOf(value: unknown): unknown {
  if (!isObject(value)) return undefined
  const { stringValue, doubleValue, intValue } = value
  return stringValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue))
}
