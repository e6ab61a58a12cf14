import { symbolicValues } from './template/operators.ts'
import { boolean, group, list, port, string, word } from './template/schema.ts'
import type { OverridesOf, ValuesOf } from './template/schema.ts'
import * as type from './value-types.ts'

/** Every configuration key once: its type, default, documentation and rule. */
export const schema = {
  global: {
    ...group('Settings for all components.', {
      image: group('Where every image comes from.', {
        registry: type.registry('Registry host of all images whose own `host` is empty.'),
        namePrefixOverride: type.imagePath(
          '',
          'Replaces the path of every image up to its last component, for mirrors that keep all images in one place.',
        ),
        pullSecret: type.objectName('Pull secret of all images whose own `pullSecret` is empty.'),
      }),
    }),
    open: true,
  },

  image: type.image('crew-platform/platform', '', 'web, worker and the set-up jobs'),

  envVars: group('Settings that several components read from their environment.', {
    PLATFORM_BASE_URL: string(
      'http://localhost:3000',
      'Address under which users and API clients reach the platform; also the audience of OAuth access tokens.',
      {
        pattern: /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~/-]*)?$/,
        expected: 'an http(s) URL',
      },
    ),
    PLATFORM_API_PREFIX: string('platform', 'First path segment of the automation API.', {
      pattern: /^[a-z0-9][a-z0-9_-]{0,62}$/,
      expected: 'one path segment of lower-case letters, digits, - and _',
    }),
    PLATFORM_PROVIDER: word(
      ['kubernetes', 'managed_kubernetes'],
      'kubernetes',
      "Kind of cluster; `managed_kubernetes` for a cloud provider's Kubernetes service.",
    ),
    LOG_LEVEL: word(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
      'Least severity that is logged.',
    ),
    DB_HOST: string(
      '',
      'Host of the external PostgreSQL server; used when `postgres.enabled` is false and no proxy is.',
      {
        pattern: /^([A-Za-z0-9][A-Za-z0-9.-]*)?$/,
        expected: 'a host name or address, or ""',
      },
    ),
    DB_PORT: port(5432, 'Port of PostgreSQL.'),
    DB_NAME: databaseName('platform', 'The main application database.'),
    DB_USER: string('platform', 'Database user, shared by all components.', {
      pattern: /^[A-Za-z_][A-Za-z0-9_.@-]{0,62}$/,
      expected: 'a PostgreSQL role name',
    }),
    DB_SSLMODE: word(
      ['disable', 'require', 'verify-full'],
      'require',
      'How connections to an external PostgreSQL are encrypted. Inside the cluster and behind the proxy they are not.',
    ),
  }),

  extraEnvVars: type.variables(
    'More environment variables for web and worker; those that the chart sets itself win.',
  ),

  envFromSecrets: list(
    'Secrets of your own whose keys become variables of web and worker, such as the API keys of LLM providers.',
    { name: string('', 'Name of the Secret.', type.OBJECT_NAME) },
    ['name'],
  ),

  secrets: group(
    'Secret values. What is set here wins over what was generated, and is kept when it is removed again.',
    {
      existingSecret: type.objectName(
        'Secret of your own with all keys below; the chart then generates nothing.',
      ),
      PLATFORM_DEBUG_TOKEN: type.secret('Token for `GET /health/debug`.'),
      SECRET_KEY_BASE: type.secret('Key that signs sessions.'),
      COLLECTOR_JWT_SECRET: type.secret('Shared secret that authenticates trace submissions.'),
      COLLECTOR_JWT_SECRET_PREVIOUS: string(
        '',
        'Former `COLLECTOR_JWT_SECRET`, still accepted while it is replaced.',
        {
          pattern: /^([!-~]{32,})?$/,
          expected: 'at least 32 printable ASCII characters without spaces, or ""',
        },
      ),
      DB_PASSWORD: string(
        '',
        'Password of `envVars.DB_USER`. Empty means generated, when the chart manages PostgreSQL.',
      ),
    },
  ),

  rbac: group('Access to the Kubernetes API.', {
    create: boolean(
      true,
      'Create the Roles that the diagnostic probe and the secret bootstrap need.',
    ),
  }),

  serviceAccount: group('The service accounts of web, worker, collector and postgres.', {
    annotations: type.annotations(
      'Annotations, such as a workload identity for the database proxy.',
    ),
  }),

  web: group('Web: the user interface and the automation API.', {
    replicaCount: type.replicas('web'),
    port: port(3000, 'HTTP port of the pods.'),
    servicePort: port(80, 'Port of the Service.'),
    resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
    ...type.scheduling,
  }),

  worker: group('Worker: runs the automations.', {
    replicaCount: type.replicas('worker'),
    port: port(3001, 'HTTP port for `/health` and `/metrics`.'),
    resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
    ...type.scheduling,
  }),

  collector: group(
    'Trace collector: receives OTLP traces and stores them in a PostgreSQL database of its own.',
    {
      enabled: boolean(true, 'Collect traces. `false` deploys nothing of the collector.'),
      image: type.image('crew-platform/collector', '0.1.2', 'the trace collector'),
      replicaCount: type.replicas('collector'),
      port: port(8080, 'HTTP port for OTLP ingestion and `/health`.'),
      metricsPort: port(9090, 'HTTP port for `/metrics`.'),
      config: group('How traces are kept.', {
        storageType: word(['postgres'], 'postgres', 'Where traces are stored.'),
        sinkType: word(
          ['memory_batch'],
          'memory_batch',
          'Traces are batched in memory before they are written.',
        ),
        retentionWeeks: string(
          '13',
          'Weeks after which trace data is removed. Suggested: 4 for development, 13 or more for production.',
          {
            pattern: /^[1-9][0-9]{0,2}$/,
            expected: 'a string of digits from "1" to "999"',
            digits: { min: 1, max: 999 },
          },
        ),
      }),
      resources: type.resources({ cpu: '500m', memory: '512Mi' }, { cpu: '100m', memory: '128Mi' }),
      ...type.scheduling,
    },
  ),

  postgres: group('PostgreSQL.', {
    enabled: boolean(
      true,
      'Run PostgreSQL in the cluster. `false` uses the external server `envVars.DB_HOST`.',
    ),
    collectorDatabase: databaseName(
      'collector',
      'Database of the collector. On an external server it must exist before the install.',
    ),
    image: type.image('postgres', '18.6', 'PostgreSQL'),
    storage: group('The volume that holds the data.', {
      size: type.size('20Gi', 'Size of the volume.'),
      className: type.objectName("Storage class. Empty means the cluster's default."),
    }),
    resources: type.resources({ cpu: '2', memory: '1Gi' }, { cpu: '250m', memory: '512Mi' }),
    ...type.scheduling,
  }),

  dbProxy: group(
    'Sidecar that authenticates to a managed PostgreSQL, in every pod that uses the database.',
    {
      enabled: boolean(false, 'Add the sidecar. Needs `postgres.enabled: false`.'),
      autoIamAuthn: boolean(
        false,
        'Log in with short-lived IAM tokens that the proxy injects; DB_PASSWORD is then empty on purpose.',
      ),
      privateIp: boolean(false, "Connect to the instance's private address."),
      instanceConnectionName: string('', 'Instance to connect to, as `project:region:instance`.', {
        pattern: /^([a-z0-9][a-z0-9.:-]*:[a-z0-9-]+:[a-z0-9-]+)?$/,
        expected: 'project:region:instance, or ""',
      }),
      healthPort: port(9801, 'Port for the health checks of the sidecar.'),
      image: type.image('cloud-sql-connectors/cloud-sql-proxy', '2.25.3', 'the database proxy'),
      resources: type.resources({ cpu: '200m', memory: '128Mi' }, { cpu: '50m', memory: '64Mi' }),
    },
  ),
} as const

function databaseName(value: string, doc: string) {
  return string(value, doc, {
    pattern: /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/,
    expected: 'a PostgreSQL database name of up to 63 letters, digits, - and _',
  })
}

export type Values = ValuesOf<typeof schema>

/** Values to lay over the defaults; any part of them. */
export type ValuesOverrides = OverridesOf<typeof schema>

/** Every value by its path, symbolic: known when the manifests or the chart are rendered. */
export const values = symbolicValues(schema)
