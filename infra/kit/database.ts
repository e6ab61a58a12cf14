import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { all, any, digits, isSet, not, pick } from '../template/operators.ts'
import type { Condition } from '../template/operators.ts'
import { helper } from '../template/named.ts'
import { part, partWith } from '../template/parts.ts'
import { when } from '../template/structure.ts'
import { values } from '../values.ts'
import { addressOf } from '../calls.ts'
import type { CallerOf } from '../calls.ts'
import { choose, unset } from './env.ts'
import type { Reference } from './env.ts'
import { postgresImage, runs } from './image.ts'
import { fromSecret, keyIn, secretName } from './secret-keys.ts'
import { initResources } from './resources.ts'
import { containerSecurity, POSTGRES_USER } from './security.ts'

const { collector, postgres, dbProxy, envVars } = values

type DatabaseClient = CallerOf<'postgres'>

function hostFor(client: DatabaseClient): Val<string> {
  const inCluster = addressOf({ from: client, to: 'postgres' })
  return helper(
    {
      name: 'platform.databaseHost',
      comment:
        'The host of the main database: the proxy beside it, the own one, or an external one.',
    },
    pick(dbProxy.enabled, '127.0.0.1', pick(postgres.enabled, inCluster, envVars.DB_HOST)),
  )
}

const sslMode = helper(
  {
    name: 'platform.databaseSslMode',
    comment: 'No TLS inside of the pod or to the own PostgreSQL; to others as the values say.',
  },
  pick(any(postgres.enabled, dbProxy.enabled), 'disable', envVars.DB_SSLMODE),
)

/**
 * The variables of the main database: behind the proxy, in the cluster, or on an external server.
 */
export const databaseEnv = (client: DatabaseClient) => ({
  DATABASE_URL: unset,
  ...server(client),
  ...password(),
})

const server = (client: DatabaseClient) =>
  part(
    { name: 'platform.databaseEnv', comment: 'The main database, but for its password.' },
    () => ({
      DB_HOST: hostFor(client),
      DB_PORT: digits(envVars.DB_PORT),
      DB_NAME: envVars.DB_NAME,
      DB_USER: envVars.DB_USER,
      DB_SSLMODE: sslMode,
    }),
  )()

const password = part(
  {
    name: 'platform.databasePassword',
    comment: 'The password of the main database: empty while the proxy injects an IAM token.',
  },
  () => ({ DB_PASSWORD: choose(not(dbProxy.autoIamAuthn), fromSecret('DB_PASSWORD'), '') }),
)

const { host: ownHost, ...own } = collector.database

/** Holds while traces have a server of their own. */
export const hasOwnTraceServer = isSet(ownHost)

/** Holds while the migration creates a missing database on the server of the traces. */
export const createsOnTraceServer = all(hasOwnTraceServer, own.create)

const secretOf = secretName('DB_PASSWORD')

/** The password of the trace database. */
export const collectorPassword: Reference = {
  valueFrom: {
    secretKeyRef: {
      name: pick(hasOwnTraceServer, own.passwordSecret, secretOf),
      key: pick(hasOwnTraceServer, own.passwordKey, keyIn('DB_PASSWORD')),
    },
  },
}

/** The variables of the trace database: on the server of the platform, or on one of its own. */
export const collectorDatabaseEnv = {
  DATABASE_URL: unset,
  DB_HOST: pick(hasOwnTraceServer, ownHost, hostFor('collector')),
  DB_PORT: pick(hasOwnTraceServer, digits(own.port), digits(envVars.DB_PORT)),
  DB_NAME: pick(all(hasOwnTraceServer, isSet(own.name)), own.name, postgres.collectorDatabase),
  DB_USER: pick(hasOwnTraceServer, own.user, envVars.DB_USER),
  DB_PASSWORD: choose(not(dbProxy.autoIamAuthn), collectorPassword, ''),
  DB_SSLMODE: pick(hasOwnTraceServer, own.sslMode, sslMode),
}

// A shell that is the first process of its container ends on SIGTERM only if it says so, and only
// between two commands.
const UNTIL_READY = "trap 'exit 143' TERM; until pg_isready; do sleep 2 & wait $!; done"

/** An init container that holds a pod back until the chart's own PostgreSQL accepts connections. */
export const waitForPostgres = (client: DatabaseClient, isNeeded: Condition = postgres.enabled) =>
  waiting(client)({ isNeeded })

const waiting = (client: DatabaseClient) =>
  partWith(
    {
      name: 'platform.waitForPostgres',
      comment: 'Holds a pod back until the own PostgreSQL accepts connections.',
    },
    (given: { isNeeded: Condition }) => [
      when<k8s.Container>(given.isNeeded, {
        name: 'wait-for-postgres',
        ...runs(postgresImage),
        command: ['sh', '-c', UNTIL_READY],
        env: [
          { name: 'PGHOST', value: hostFor(client) },
          { name: 'PGPORT', value: digits(envVars.DB_PORT) },
          { name: 'PGUSER', value: envVars.DB_USER },
        ],
        resources: initResources(),
        securityContext: containerSecurity(POSTGRES_USER),
      }),
    ],
  )
