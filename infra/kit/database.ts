import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { any, digits, helper, isSet, not, pick } from '../template/operators.ts'
import type { Condition } from '../template/operators.ts'
import { when } from '../template/structure.ts'
import { values } from '../values.ts'
import { choose } from './env.ts'
import { postgresImage, runs } from './image.ts'
import { nameOf } from './names.ts'
import { fromSecret, secretName } from './secret-keys.ts'
import { initResources } from './resources.ts'
import { containerSecurity, POSTGRES_USER } from './security.ts'

const { collector, postgres, dbProxy, envVars } = values

const host = helper(
  'platform.databaseHost',
  pick(dbProxy.enabled, '127.0.0.1', pick(postgres.enabled, nameOf('postgres'), envVars.DB_HOST)),
)

const sslMode = helper(
  'platform.databaseSslMode',
  pick(any(postgres.enabled, dbProxy.enabled), 'disable', envVars.DB_SSLMODE),
)

/** How a service reaches one database: through the proxy, inside the cluster, or on the external server. */
export const databaseEnv = (database: Val<string>) => ({
  DB_HOST: host,
  DB_PORT: digits(envVars.DB_PORT),
  DB_NAME: database,
  DB_USER: envVars.DB_USER,
  // Empty on purpose while the proxy injects an IAM token (SPEC 2.6).
  DB_PASSWORD: choose(not(dbProxy.autoIamAuthn), fromSecret('DB_PASSWORD'), ''),
  DB_SSLMODE: sslMode,
})

const { host: ownHost, ...own } = collector.database

/** Whether traces have a server of their own. */
export const hasOwnTraceServer = isSet(ownHost)

const secretOf = secretName('DB_PASSWORD')

/** How the collector reaches its database: on the server of the platform, or on one of its own. */
export const collectorDatabaseEnv = {
  DB_HOST: pick(hasOwnTraceServer, ownHost, host),
  DB_PORT: pick(hasOwnTraceServer, digits(own.port), digits(envVars.DB_PORT)),
  DB_NAME: postgres.collectorDatabase,
  DB_USER: pick(hasOwnTraceServer, own.user, envVars.DB_USER),
  DB_PASSWORD: choose(
    not(dbProxy.autoIamAuthn),
    {
      valueFrom: {
        secretKeyRef: {
          name: pick(hasOwnTraceServer, own.passwordSecret, secretOf),
          key: pick(hasOwnTraceServer, own.passwordKey, 'DB_PASSWORD'),
        },
      },
    },
    '',
  ),
  DB_SSLMODE: pick(hasOwnTraceServer, own.sslMode, sslMode),
}

// A shell that is the first process of its container ends on SIGTERM only if it says so, and only between two commands.
const UNTIL_READY = "trap 'exit 143' TERM; until pg_isready; do sleep 2 & wait $!; done"

/** An init container that holds a pod back until the chart's own PostgreSQL accepts connections. */
export const waitForPostgres = (isNeeded: Condition = postgres.enabled) =>
  when<k8s.Container>(isNeeded, {
    name: 'wait-for-postgres',
    ...runs(postgresImage),
    command: ['sh', '-c', UNTIL_READY],
    env: [
      { name: 'PGHOST', value: host },
      { name: 'PGPORT', value: digits(envVars.DB_PORT) },
      { name: 'PGUSER', value: envVars.DB_USER },
    ],
    resources: initResources,
    securityContext: containerSecurity(POSTGRES_USER),
  })
