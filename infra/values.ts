import { OBJECT_NAME } from './kubernetes-names.ts'
import { symbolicValues } from './template/operators.ts'
import { boolean, group, integer, list, podPort, port, string, word } from './template/schema.ts'
import type { OverridesOf, ValuesOf } from './template/typed-values.ts'
import * as type from './value-types.ts'
import { audit } from './values/audit.ts'
import { mail } from './values/mail.ts'
import { limits } from './values/limits.ts'
import { auth } from './values/auth.ts'
import { backup } from './values/backup.ts'
import { autoscaling, pressureScaling, queueScaling } from './values/autoscaling.ts'
import { configuration } from './values/configuration.ts'
import { cluster } from './values/cluster.ts'
import { global } from './values/global.ts'
import { objects } from './values/objects.ts'
import { outgoing } from './values/outgoing.ts'
import { runs } from './values/runs.ts'
import { tools } from './values/tools.ts'
import { secretKeyRefs, secrets } from './values/secrets.ts'
import { thirdParty } from './values/third-party.ts'
import { traceDatabases } from './values/trace-databases.ts'
import { upgrade } from './values/upgrade.ts'
import { disruption, endingWorkload, openService, service, workload } from './values/workload.ts'

/** As `COLLECTOR_REDACT` takes it. */
const REDACTABLE = /^((cards|keys|emails|ibans|custom)(,(cards|keys|emails|ibans|custom))*)?$/

/** Every configuration key once: its type, default, documentation and rule. */
export const schema = {
  global,

  ...objects,

  image: type.image('crew-platform/platform', '', 'web, worker, oauth and the set-up jobs'),

  envVars: group('Settings that several components read from their environment.', {
    PLATFORM_BASE_URL: type.url(
      'http://localhost:3000',
      'Address at which users and API clients reach the platform; the audience of OAuth tokens.',
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
      'Host of the external PostgreSQL server; used when `postgres.enabled` is false and no ' +
        'proxy is.',
      {
        pattern: /^([A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)?$/,
        expected: 'a host name, an IPv4 or an IPv6 address without brackets, or ""',
      },
    ),
    DB_PORT: port(5432, 'Port of PostgreSQL.'),
    DB_NAME: type.databaseName('platform', 'The main application database.'),
    DB_USER: type.databaseUser('platform', 'Database user, shared by all components.'),
    DB_SSLMODE: type.sslMode(
      'How connections to an external PostgreSQL are encrypted. Inside the cluster and ' +
        'behind the proxy they are not.',
    ),
  }),

  auth,

  outgoing,

  tools,

  extraEnvVars: type.variables(
    'More environment variables for web, worker and oauth; those that the chart sets itself win.',
    { OPENAI_BASE_URL: 'https://models.example.com/v1' },
  ),

  envFromSecrets: list(
    'Secrets of your own whose keys become variables of web, worker and oauth, such as the ' +
      'API keys of LLM providers.',
    { name: string('', 'Name of the Secret.', OBJECT_NAME) },
    { required: ['name'], example: [{ name: 'model-keys' }] },
  ),

  extraSecretMounts: type.mounts('Secrets', { name: 'database-ca', mountPath: '/etc/database-ca' }),
  extraConfigMapMounts: type.mounts('ConfigMaps', { name: 'proxy-ca', mountPath: '/etc/proxy-ca' }),

  secrets,

  secretKeyRefs,

  configuration,

  web: group('Web: the user interface and the automation API.', {
    replicaCount: type.replicas('web'),
    port: podPort(3000, 'HTTP port of the pods.'),
    metricsPort: podPort(9090, 'HTTP port of the pods for `/metrics`.'),
    servicePort: port(80, 'Port of the Service.'),
    trustedProxies: string(
      '',
      'Proxies of yours in front of web, whose `X-Forwarded-For` is believed. Empty means 1 ' +
        'with `ingress` or `httpRoute`, 0 otherwise.',
      {
        pattern: /^([0-9]|10)?$/,
        expected: 'a whole number from 0 to 10, or ""',
        digits: { min: 0, max: 10 },
      },
    ),
    modelRetirements: type.json(
      'The days on which providers turn models off, in the place of the shipped ones.',
      'retirements as {"retirements":[…]}',
    ),
    autoscaling,
    resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
    ...type.pods,
    ...endingWorkload(),
    podDisruptionBudget: disruption,
    service: openService,
  }),

  runs,

  limits,

  mail,

  audit,

  backup,

  upgrade,

  worker: group('Worker: runs the automations.', {
    replicaCount: type.replicas('worker'),
    port: podPort(3001, 'HTTP port for `/health` and `/metrics`.'),
    concurrency: integer(10, 'Runs that one worker has in hand at a time.', {
      min: 1,
      max: 1000,
    }),
    crewPatienceSeconds: integer(
      60,
      'How long a crew that does not answer is tried again before its run fails.',
      { min: 0, max: 600 },
    ),
    executionTimeoutSeconds: integer(3600, 'The longest that one run may take.', {
      min: 1,
      max: 86_400,
    }),
    drainSeconds: integer(
      300,
      'How long the calls in flight may take when a worker stops; after them, another one takes ' +
        'up its runs. Runs of crews without a journal may continue for as long.',
      { min: 0, max: 86_400 },
    ),
    autoscaling: queueScaling,
    resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
    ...type.pods,
    ...workload(),
    podDisruptionBudget: disruption,
    service,
  }),

  oauth: group('OAuth integration service: connects crews to the accounts of their users.', {
    enabled: boolean(true, 'Run it. `false` deploys nothing of it.'),
    publicUrl: type.url(
      'http://localhost:3002',
      'Address under which browsers reach it; providers send them back to `/callback` below it.',
    ),
    providersSecret: type.objectName(
      'Secret of your own whose key `OAUTH_PROVIDERS` holds the JSON list of providers. ' +
        'Empty means none.',
    ),
    replicaCount: type.replicas('oauth'),
    port: podPort(3002, 'HTTP port of the pods and of the Service.'),
    metricsPort: podPort(9090, 'HTTP port of the pods for `/metrics`.'),
    autoscaling,
    resources: type.resources({ cpu: '500m', memory: '256Mi' }, { cpu: '50m', memory: '128Mi' }),
    ...type.pods,
    ...endingWorkload(),
    podDisruptionBudget: disruption,
    service: openService,
  }),

  collector: group(
    'Trace collector: receives OTLP traces and stores them in a PostgreSQL database of its own.',
    {
      enabled: boolean(true, 'Collect traces. `false` deploys nothing of the collector.'),
      image: type.image('crew-platform/collector', '0.1.2', 'the trace collector'),
      replicaCount: type.replicas('collector'),
      autoscaling: pressureScaling,
      port: podPort(8080, 'HTTP port for OTLP ingestion and `/health`.'),
      publicUrl: type.optionalUrl(
        'Address that the console gives to programs that send traces. Empty means that of the ' +
          'Service inside the cluster.',
      ),
      metricsPort: podPort(9090, 'HTTP port for `/metrics`.'),
      grpc: group('OTLP over gRPC, beside HTTP.', {
        enabled: boolean(
          false,
          'Serve it, inside the cluster. `networkPolicy.tracesNamespace` lets senders in.',
        ),
        port: podPort(4317, 'Port of the pods and of the Service.'),
        tlsSecret: type.objectName(
          'Secret of type `kubernetes.io/tls` with the certificate for this port; a renewed one ' +
            'is taken up within minutes. Empty means no TLS here.',
        ),
      }),
      config: group('How traces are kept.', {
        storageType: word(['postgres'], 'postgres', 'Where traces are stored.'),
        sinkType: word(
          ['memory_batch'],
          'memory_batch',
          'Traces are batched in memory before they are written.',
        ),
        retentionWeeks: string(
          '13',
          'Weeks after which trace data is removed. Suggested: 4 for development, 13 or ' +
            'more for production.',
          {
            pattern: /^([1-9][0-9]{0,2}|[1-4][0-9]{3}|5[01][0-9]{2}|5200)$/,
            expected: 'a string of digits from "1" to "5200"',
            digits: { min: 1, max: 5200 },
          },
        ),
        organizationRetentionDays: type.daysByOrganization(
          'Days after which traces of an organization, by its id, are removed, where that is ' +
            'before those of all; never more than `retentionWeeks` keeps. The id `""` is for ' +
            'traces without an organization.',
        ),
        maxStorageBytes: string(
          '',
          'Bytes that traces may take: above it the oldest day goes before its time. Empty ' +
            'means half of `postgres.storage.size`, so that traces never fill the volume that ' +
            'sign-in needs, and no limit on an external server.',
          {
            pattern: /^([1-9][0-9]{6,15})?$/,
            expected: 'bytes as a string of digits, one megabyte or more, or ""',
          },
        ),
        prices: type.json(
          'Prices of models that come before the shipped ones, as the file ' +
            '`COLLECTOR_PRICES_FILE` of the collector and, with it, of the worker and web, whose ' +
            'budgets count by it.',
          'prices as {"prices":[…]}',
        ),
        requireScopes: boolean(
          false,
          'Refuse tokens that do not say what they allow. Turn it on once every sender has a ' +
            'token with a scope.',
        ),
        search: boolean(
          true,
          'Make prompts and answers searchable: about 0.3 KB for each span that has some.',
        ),
        redact: group('What is replaced by marks in all texts before they are stored.', {
          kinds: string(
            '',
            'A list of cards, keys, emails, ibans and custom, with commas. Empty means nothing.',
            {
              pattern: REDACTABLE,
              expected: 'a list such as "cards,keys,emails", or ""',
            },
          ),
          expressionsSecret: type.objectName(
            'Secret of yours with the key `expressions`: a file of `name: expression` lines, ' +
              'for custom.',
          ),
          hashKeySecret: type.objectName(
            'Secret of yours with the key `hashKey`, of 32 characters or more: with it, equal ' +
              'values have equal marks.',
          ),
        }),
      }),
      ...traceDatabases,
      resources: type.resources({ cpu: '500m', memory: '512Mi' }, { cpu: '100m', memory: '128Mi' }),
      ...type.pods,
      ...endingWorkload(),
      podDisruptionBudget: disruption,
      service,
    },
  ),

  ...thirdParty,
  ...cluster,
} as const

export type Values = ValuesOf<typeof schema>

/** Values to lay over the defaults; any part of them. */
export type ValuesOverrides = OverridesOf<typeof schema>

/** Every value by its path, symbolic: known when the manifests or the chart are rendered. */
export const values = symbolicValues(schema)
