import { SpanKind, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { detectResources, envDetector } from '@opentelemetry/resources'

const provider = new BasicTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
})
trace.setGlobalTracerProvider(provider)

const message = (role, content) => ({ role, parts: [{ type: 'text', content }] })
const span = trace.getTracer('weather').startSpan('chat gpt-5-mini', {
  kind: SpanKind.CLIENT,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.input.messages': JSON.stringify([message('user', 'How warm is it in Paris?')]),
  },
})
// Here the model is called.
span.setAttributes({
  'gen_ai.output.messages': JSON.stringify([message('assistant', 'It is 18 degrees.')]),
  'gen_ai.usage.input_tokens': 120,
  'gen_ai.usage.output_tokens': 40,
})
span.end()
await provider.shutdown()
