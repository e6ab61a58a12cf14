import type { Val } from '../template/expression.ts'
import { digits } from '../template/operators.ts'

/** Pod annotations that tell a Prometheus without an operator where metrics are (SPEC 4.6). */
export const scrapedAt = (port: Val<number>) => ({
  'prometheus.io/scrape': 'true',
  'prometheus.io/path': '/metrics',
  'prometheus.io/port': digits(port),
})
