import { Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/** The view that was read. */
export type ReadView =
  | 'list'
  | 'histogram'
  | 'totals'
  | 'measures'
  | 'usage'
  | 'sessions'
  | 'summary'
  | 'otlp'
  | 'skeleton'
  | 'search'
  | 'export'
  | 'tail'
  | 'erase'
  | 'mentions'
  | 'holds'
  | 'revoke'
  | 'prices'
  | 'forwarding'
  | 'span'
  | 'none'

/** Metrics of reading back; `code` is the HTTP status. */
export type ReadMetrics = Histogram<'view' | 'code'>

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/** Registers the metrics of the read API. */
export const createReadMetrics = (registry: Registry): ReadMetrics =>
  new Histogram({
    name: 'collector_read_seconds',
    help: 'From a question about traces to the end of its answer.',
    labelNames: ['view', 'code'],
    buckets: SECONDS,
    registers: [registry],
  })
