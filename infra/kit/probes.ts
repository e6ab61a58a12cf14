import * as k8s from '../k8s.ts'

const http = k8s.IntOrString.fromString('http')

const probe = (path: string) => ({ httpGet: { path, port: http } })

/** Probes of a program over HTTP; their times are values. */
const probes = (ready: string, alive: string) => ({
  startupProbe: probe(ready),
  livenessProbe: probe(alive),
  readinessProbe: probe(ready),
})

/** Probes of a service whose `/health` succeeds while it can work, with its database or without. */
export const healthProbes = probes('/health', '/health')

/** Probes of a service that stays reachable while its database is unavailable, to report it. */
export const reachableProbes = probes('/health/ready', '/health/live')

/**
 * Probes of services whose `/health` asks the database, which must not restart their pods when it
 * is unavailable.
 */
export const databaseHealthProbes = probes('/health', '/health/live')
