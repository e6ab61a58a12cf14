import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Tracer } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
} from '@opentelemetry/sdk-trace-base'
import type {
  ReadableSpan,
  SpanProcessor,
  SpanExporter,
  IdGenerator,
} from '@opentelemetry/sdk-trace-base'
import { signCollectorToken } from '../collector-token.ts'
import { deadline } from '../deadline.ts'
import { toError } from '../errors.ts'
import type { Log } from '../log.ts'
import { patientExporter } from './patient-exporter.ts'
import { platformService } from './platform-service.ts'
import { boundProcessor, createSpanBuffer, SPANS_MAX } from './span-buffer.ts'
import type { SpanCount } from './span-buffer.ts'
import type { Resource } from '@opentelemetry/resources'

/** Ids in hexadecimal: 32 digits for a trace, 16 for a span. */
interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

/** The attribute of a span, and of a resource, that says whose they are. */
const ORGANIZATION_KEY = 'organization_id'

const REMEMBERED_MAX = 1000

/** Spans are sent soon: somebody may look at the trace of a run that has just ended. */
const DELAY_MS = 500
/**
 * Small enough that a batch of long conversations stays far below what the collector takes at once.
 */
const BATCH_SPANS = 32
const EXPORT_MS = 15_000
/** A batch that the collector does not take is sent again after this, for this long. */
const RETRY_MS = 5000
const RETRY_FOR_MS = 120_000
const ATTRIBUTE_CHARACTERS_MAX = 262_144
const STOP_MS = 3000

/** The service that sends spans, and the collector that takes them. */
export interface SpanSenderOptions {
  readonly service: 'web' | 'worker'
  readonly collectorUrl: string
  /** `COLLECTOR_JWT_SECRET`, which signs a fresh token for each request. */
  readonly secret: string
  readonly version: string
  readonly log: Log
  /** Sends root spans when they start as well, so that readers see what goes on. @default false */
  readonly sendsStarts?: boolean
  /** Called with what became of spans. */
  readonly onSpans?: (count: SpanCount) => void
}

/** Sends the spans of a service. */
export interface SpanSender {
  readonly tracer: Tracer
  /** Gives the next span, which has to be a root, these ids. */
  readonly useIds: (ids: SpanIds) => void
  /** Sends what is left, within 3 s. */
  readonly stop: () => Promise<void>
}

/**
 * Sends spans to the trace collector in the background (SPEC 4.6): bounded in number and bytes, so
 * that an unavailable collector costs spans and nothing else. Nothing is registered globally.
 */
export function createSpanSender(options: SpanSenderOptions): SpanSender {
  const { service, log, version } = options
  const ids = createNextIds()
  const pipeline = createPipeline(options)
  const provider = new BasicTracerProvider({
    // Given here, so that no OTEL_* variable of the environment decides instead.
    sampler: new AlwaysOnSampler(),
    spanLimits: {
      attributeValueLengthLimit: ATTRIBUTE_CHARACTERS_MAX,
      attributeCountLimit: 128,
    },
    resource: resourceFromAttributes({
      'service.name': platformService(service),
      'service.version': version,
      'service.instance.id': randomUUID(),
      'host.name': hostname(),
    }),
    idGenerator: ids.generator,
    spanProcessors: pipeline.processors,
  })
  return {
    tracer: provider.getTracer(platformService(service), version),
    useIds: ids.use,
    async stop() {
      try {
        await deadline({ name: 'collector', timeoutMs: STOP_MS }, () => provider.shutdown())
      } catch (thrown) {
        log.warn({ reason: toError(thrown).message }, 'the last spans were not sent')
      } finally {
        pipeline.abandon()
      }
    },
  }
}

function createPipeline(options: SpanSenderOptions) {
  const { log, onSpans = () => {} } = options
  const buffer = createSpanBuffer()
  const exporter = patientExporter({
    exporter: nameOrganizations(createExporter(options)),
    waitMs: RETRY_MS,
    forMs: RETRY_FOR_MS,
    onDone(spans, error) {
      buffer.release(spans)
      onSpans({ fate: error ? 'dropped' : 'exported', count: spans.length })
      if (error) log.warn({ reason: error.message, spans: spans.length }, 'spans were not sent')
    },
  })
  const batches = new BatchSpanProcessor(exporter, {
    scheduledDelayMillis: DELAY_MS,
    maxExportBatchSize: BATCH_SPANS,
    maxQueueSize: SPANS_MAX,
    exportTimeoutMillis: RETRY_FOR_MS + EXPORT_MS + RETRY_MS,
  })
  const onDropped = (): void => onSpans({ fate: 'dropped', count: 1 })
  const processor = boundProcessor({ processor: batches, buffer, onDropped })
  const processors = options.sendsStarts ? [processor, startOf(processor)] : [processor]
  return { processors, abandon: exporter.abandon }
}

/** A processor that hands on root spans when they start, as spans without an end. */
const startOf = (processor: SpanProcessor): SpanProcessor => ({
  onStart(span) {
    if (!span.parentSpanContext) processor.onEnd(asStarted(span))
  },
  onEnd() {},
  forceFlush: async () => {},
  shutdown: async () => {},
})

/** The span as it is now: by the time it is sent, the original may have ended. */
const asStarted = (span: ReadableSpan): ReadableSpan =>
  Object.create(span, {
    endTime: { value: [0, 0] },
    attributes: { value: { ...span.attributes } },
  })

const WRITES = { scopes: ['traces:write'] } as const

type ExporterConfig = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>

function createExporter({ service, collectorUrl, secret }: SpanSenderOptions): OTLPTraceExporter {
  return new OTLPTraceExporter({
    url: `${collectorUrl}/v1/traces`,
    // Called for each request, retries included: no token is ever sent after it expired.
    headers: async () => ({
      authorization: `Bearer ${await signCollectorToken(secret, service, WRITES)}`,
    }),
    // The enum of this value is in an internal package of the exporter.
    compression: 'gzip' as ExporterConfig['compression'],
    timeoutMillis: EXPORT_MS,
    userAgent: platformService(service),
  })
}

/**
 * Sends the spans of an organization with a resource that names it: there the collector looks for
 * whose spans the platform sends.
 */
function nameOrganizations(exporter: SpanExporter): SpanExporter {
  const resources = new Map<string, Resource>()
  const resourceOf = ({ resource }: ReadableSpan, organization: string): Resource => {
    const known = resources.get(organization)
    if (known) return known
    const named = resource.merge(resourceFromAttributes({ [ORGANIZATION_KEY]: organization }))
    // Spans share a resource only when it is the same object.
    if (resources.size >= REMEMBERED_MAX) resources.clear()
    resources.set(organization, named)
    return named
  }
  const named = (span: ReadableSpan): ReadableSpan => {
    const organization = span.attributes[ORGANIZATION_KEY]
    if (typeof organization !== 'string') return span
    return Object.create(span, { resource: { value: resourceOf(span, organization) } })
  }
  return {
    export: (spans, done) => exporter.export(spans.map(named), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

/**
 * An id generator of the SDK; the next root span gets the ids of `use`, all others random ones. A
 * span is made synchronously, so nothing comes between.
 */
function createNextIds(): { generator: IdGenerator; use: (ids: SpanIds) => void } {
  const random = new RandomIdGenerator()
  let next: Partial<SpanIds> = {}
  // Each is taken once; the SDK asks for the span's first, and for a trace's only at a root.
  const take = (name: keyof SpanIds): string | undefined => {
    const { [name]: id, ...others } = next
    next = others
    return id
  }
  return {
    generator: {
      generateTraceId: () => take('traceId') ?? random.generateTraceId(),
      generateSpanId: () => take('spanId') ?? random.generateSpanId(),
    },
    use(ids) {
      next = ids
    },
  }
}
