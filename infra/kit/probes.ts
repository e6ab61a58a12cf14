import * as k8s from '../k8s.ts'

const http = k8s.IntOrString.fromString('http')

const probe = (path: string, timing: k8s.Probe) => ({
  httpGet: { path, port: http },
  timeoutSeconds: 5,
  ...timing,
})

/** Up to five minutes to start, then asked for readiness every 5 seconds and for life every 10 (SPEC 8). */
const probes = (ready: string, alive: string) => ({
  startupProbe: probe(ready, { periodSeconds: 5, failureThreshold: 60 }),
  livenessProbe: probe(alive, { periodSeconds: 10, failureThreshold: 3 }),
  readinessProbe: probe(ready, { periodSeconds: 5, failureThreshold: 3 }),
})

/** For a service whose `/health` holds while it can do its work, with its database or without. */
export const healthProbes = probes('/health', '/health')

/** For a service that stays reachable while its database is unavailable: to say so, and to show the report. */
export const reachableProbes = probes('/health/ready', '/health/live')

/** For services whose `/health` asks the database: a database that is away must not restart their pods. */
export const databaseHealthProbes = probes('/health', '/health/live')
