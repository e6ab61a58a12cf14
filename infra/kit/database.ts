import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { any, digits, helper, not, pick } from '../template/operators.ts'
import { when } from '../template/structure.ts'
import { values } from '../values.ts'
import { choose } from './env.ts'
import { postgresImage, runs } from './image.ts'
import { nameOf } from './names.ts'
import { fromSecret } from './secret-keys.ts'
import { initResources } from './resources.ts'
import { containerSecurity, POSTGRES_USER } from './security.ts'

const { postgres, dbProxy, envVars } = values

const host = helper(
  'platform.databaseHost',
  pick(dbProxy.enabled, '127.0.0.1', pick(postgres.enabled, nameOf('postgres'), envVars.DB_HOST)),
)

/** How a service reaches one database: through the proxy, inside the cluster, or on the external server. */
export const databaseEnv = (database: Val<string>) => ({
  DB_HOST: host,
  DB_PORT: digits(envVars.DB_PORT),
  DB_NAME: database,
  DB_USER: envVars.DB_USER,
  // Empty on purpose while the proxy injects an IAM token (SPEC 2.6).
  DB_PASSWORD: choose(not(dbProxy.autoIamAuthn), fromSecret('DB_PASSWORD'), ''),
  DB_SSLMODE: helper(
    'platform.databaseSslMode',
    pick(any(postgres.enabled, dbProxy.enabled), 'disable', envVars.DB_SSLMODE),
  ),
})

/** An init container that holds a pod back until the chart's own PostgreSQL accepts connections. */
// A shell that is the first process of its container ends on SIGTERM only if it says so, and only between two commands.
const UNTIL_READY = "trap 'exit 143' TERM; until pg_isready; do sleep 2 & wait $!; done"

export const waitForPostgres = () =>
  when<k8s.Container>(postgres.enabled, {
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
