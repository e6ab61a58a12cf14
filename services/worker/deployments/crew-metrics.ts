import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CrewCounts } from '../../platform/crews/crew-counts.ts'
import { CREW_STATES } from '../../platform/crews/crew-deployments.ts'
import { deadline } from '../../shared/deadline.ts'

const SCRAPE_MS = 2000

/**
 * Registers the metrics of crews from source; `count` is asked at each scrape. Returns what counts
 * a failure.
 */
export function registerCrewMetrics(
  registry: Registry,
  count: () => Promise<CrewCounts>,
): () => void {
  const registers = [registry]
  new Gauge({
    name: 'worker_crews',
    help:
      'Automations from source by the state of their newest deployment; NaN while the database ' +
      'is unavailable.',
    labelNames: ['state'] as const,
    registers,
    async collect() {
      const counts = await deadline({ name: 'crews', timeoutMs: SCRAPE_MS }, count).catch(() => {})
      for (const state of CREW_STATES) this.set({ state }, counts ? (counts[state] ?? 0) : NaN)
    },
  })
  const failures = new Counter({
    name: 'worker_crew_failures_total',
    help: 'Deployments of crews that failed, and crews that failed after they had been online.',
    registers,
  })
  return () => failures.inc()
}
