import type { KeyValue, OtlpSpan } from '../../collector/support/otlp.ts'

const text = (key: string, stringValue: string): KeyValue => ({ key, value: { stringValue } })
const int = (key: string, intValue: number): KeyValue => ({ key, value: { intValue } })

const messages = (...said: readonly (readonly [role: string, content: string])[]): string =>
  JSON.stringify(said.map(([role, content]) => ({ role, parts: [{ type: 'text', content }] })))

/** Digits of a span id. */
export const idOf = (number: number): string => number.toString(16).padStart(16, '0')

/** An agent's run with what pages have to show: a tool, an error, scripts, circles, odd clocks. */
export function exampleTrace(traceId: string, startMs: number): OtlpSpan[] {
  const at = (ms: number): string => `${BigInt(startMs + ms) * 1_000_000n}`
  const span = (
    [id, parent]: readonly [id: number, parent: number | undefined],
    [from, to]: readonly [from: number, to: number | undefined],
    given: OtlpSpan,
  ): OtlpSpan => ({
    traceId,
    spanId: idOf(id),
    ...(parent === undefined ? {} : { parentSpanId: idOf(parent) }),
    startTimeUnixNano: at(from),
    ...(to === undefined ? {} : { endTimeUnixNano: at(to) }),
    ...given,
  })
  const call = (input: string, output: string, tokens: number): KeyValue[] => [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.request.model', 'gpt-5-mini'),
    text('gen_ai.input.messages', input),
    text('gen_ai.output.messages', output),
    int('gen_ai.usage.input_tokens', tokens),
    int('gen_ai.usage.output_tokens', 40),
  ]
  return [
    span([1, undefined], [0, 4200], {
      name: 'Research.kickoff',
      attributes: [text('gen_ai.operation.name', 'invoke_workflow')],
      links: [{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }],
    }),
    span([2, 1], [20, 2400], {
      name: 'invoke_agent Researcher',
      attributes: [text('gen_ai.operation.name', 'invoke_agent'), text('agent_role', 'Researcher')],
    }),
    span([3, 2], [30, 1200], {
      name: 'chat gpt-5-mini',
      attributes: call(
        messages(
          ['system', 'You are a **careful** researcher.'],
          ['user', 'What do tides do? <script>alert("tides")</script>'],
        ),
        JSON.stringify([
          {
            role: 'assistant',
            parts: [{ type: 'tool_call', id: 'call-1', name: 'search', arguments: { q: 'tides' } }],
          },
        ]),
        120,
      ),
    }),
    span([4, 2], [1210, 1500], {
      name: 'execute_tool search',
      attributes: [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'search'),
        text('output.value', '\u001b[31mred\u001b[0m and \u202eturned'),
      ],
      events: [{ name: 'cache_miss', timeUnixNano: at(1220), attributes: [text('key', 'tides')] }],
    }),
    span([5, 2], [1510, 2390], {
      name: 'chat gpt-5-mini',
      attributes: call(
        messages(['user', 'What do tides do?'], ['tool', 'They rise and fall.']),
        messages([
          'assistant',
          '# Tides\n\nThey *rise* and **fall**, twice a day.\n\n- high\n- low',
        ]),
        260,
      ),
    }),
    span([6, 1], [2410, 4190], {
      name: 'invoke_agent Writer',
      attributes: [text('gen_ai.operation.name', 'invoke_agent'), text('agent_role', 'Writer')],
      status: { code: 2, message: 'The model refused.\n  at <img src=x onerror=alert(1)>' },
    }),
    span([7, 6], [2420, 4180], {
      name: 'chat gpt-5-mini',
      attributes: [
        ...call(messages(['user', 'x'.repeat(5000)]), '[]', 900),
        text('error.type', 'model_refused'),
      ],
      status: { code: 2, message: 'refused' },
    }),
    span([8, 99], [100, 90], { name: 'orphan that ends before it starts' }),
    span([9, 10], [300, 400], { name: 'one of a circle' }),
    span([10, 9], [310, 390], { name: 'the other of the circle' }),
  ]
}
