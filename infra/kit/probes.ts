import { k8s } from 'cdk8s-plus-28'

const http = k8s.IntOrString.fromString('http')
const health = { httpGet: { path: '/health', port: http }, timeoutSeconds: 5 }

/** Up to five minutes to start, then asked for readiness every 5 seconds and for life every 10 (SPEC 8). */
export const healthProbes = {
  startupProbe: { ...health, periodSeconds: 5, failureThreshold: 60 },
  livenessProbe: { ...health, periodSeconds: 10, failureThreshold: 3 },
  readinessProbe: { ...health, periodSeconds: 5, failureThreshold: 3 },
}

/** The same for services whose `/health` asks the database: a database that is away must not restart their pods. */
export const databaseHealthProbes = {
  ...healthProbes,
  livenessProbe: {
    tcpSocket: { port: http },
    timeoutSeconds: 5,
    periodSeconds: 10,
    failureThreshold: 3,
  },
}
