import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'

interface PatienceOptions {
  readonly exporter: SpanExporter
  readonly waitMs: number
  readonly forMs: number
  /** Called once for each batch. */
  readonly onDone: (spans: readonly ReadableSpan[], error: Error | undefined) => void
}

type Report = Parameters<SpanExporter['export']>[1]
/** As `ExportResultCode.SUCCESS`. */
const SUCCESS = 0

/**
 * An exporter that sends a batch again while the collector is unavailable, for longer than the SDK
 * does: a restart of the collector loses nothing, because it stores a span once however often it
 * arrives. `abandon` ends the waiting.
 */
export function patientExporter(options: PatienceOptions): SpanExporter & { abandon: () => void } {
  const { exporter, waitMs, forMs, onDone } = options
  const waiting = new Map<NodeJS.Timeout, () => void>()
  function wait(again: () => void, giveUp: () => void): void {
    const timer = setTimeout(() => {
      waiting.delete(timer)
      again()
    }, waitMs)
    timer.unref()
    waiting.set(timer, giveUp)
  }
  return {
    export(spans, report) {
      const giveUpAt = performance.now() + forMs
      const end = (result: Parameters<Report>[0]): void => {
        onDone(spans, result.code === SUCCESS ? undefined : (result.error ?? new Error('unknown')))
        report(result)
      }
      const send = (): void =>
        exporter.export(spans, (result) => {
          const isFinal = result.code === SUCCESS || isRefused(result.error)
          if (isFinal || performance.now() >= giveUpAt) end(result)
          else wait(send, () => end(result))
        })
      send()
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
    abandon() {
      for (const [timer, giveUp] of waiting) {
        clearTimeout(timer)
        giveUp()
      }
      waiting.clear()
    },
  }
}

/** The exporter's errors carry the HTTP status of a refusal that is final. */
const isRefused = (error: Error | undefined): boolean =>
  error !== undefined && 'code' in error && typeof error.code === 'number'
