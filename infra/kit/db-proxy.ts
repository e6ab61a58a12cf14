import * as k8s from '../k8s.ts'
import { text } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import { noted, when } from '../template/structure.ts'
import { values } from '../values.ts'
import { caDirectoryVariable, caMounts } from './ca-bundle.ts'
import { dbProxyImage, runs } from './image.ts'
import { resourcesOf } from './resources.ts'
import { containerSecurity, DB_PROXY_USER } from './security.ts'

const { dbProxy, envVars } = values

/**
 * The sidecar that authenticates to a managed database. An init container that keeps running: as
 * the first one it is up before the migrations need it, and it ends after the service does.
 */
export const dbProxySidecar = part(
  {
    name: 'platform.dbProxy',
    comment:
      'The sidecar that authenticates to a managed database. An init container that keeps ' +
      'running: it is up before the migrations need it, and ends after the service does.',
  },
  () => [when<k8s.Container>(dbProxy.enabled, sidecar())],
)

const sidecar = () => ({
  name: 'db-proxy',
  ...runs(dbProxyImage),
  restartPolicy: 'Always',
  args: [
    text`--port=${envVars.DB_PORT}`,
    '--structured-logs',
    '--exit-zero-on-sigterm',
    '--health-check',
    '--http-address=0.0.0.0',
    noted(
      "The proxy's own choice is 9090, where the collector serves its metrics.",
      text`--http-port=${dbProxy.healthPort}`,
    ),
    when<string>(dbProxy.autoIamAuthn, '--auto-iam-authn'),
    when<string>(dbProxy.privateIp, '--private-ip'),
    dbProxy.instanceConnectionName,
  ],
  env: [caDirectoryVariable],
  ports: [{ name: 'proxy-health', containerPort: dbProxy.healthPort }],
  startupProbe: probe('/startup', { periodSeconds: 1, failureThreshold: 60 }),
  livenessProbe: probe('/liveness', { periodSeconds: 10, failureThreshold: 3 }),
  resources: resourcesOf(dbProxy.resources),
  volumeMounts: caMounts(),
  securityContext: containerSecurity(DB_PROXY_USER),
})

const probe = (path: string, timing: k8s.Probe) => ({
  httpGet: { path, port: k8s.IntOrString.fromString('proxy-health') },
  timeoutSeconds: 5,
  ...timing,
})
