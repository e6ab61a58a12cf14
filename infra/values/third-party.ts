import { boolean, group, integer, podPort, string, texts } from '../template/schema.ts'
import * as type from '../value-types.ts'
import { endingWorkload, service, statefulWorkload } from './workload.ts'

/** The programs of others that the platform runs on. */
export const thirdParty = {
  postgres: group('PostgreSQL.', {
    enabled: boolean(
      true,
      'Run PostgreSQL in the cluster. `false` uses the external server `envVars.DB_HOST`.',
    ),
    collectorDatabase: type.databaseName(
      'collector',
      'Database of the collector. On an external server it must exist before the install.',
    ),
    image: type.image('postgres', '18.6', 'PostgreSQL'),
    storage: group('The volume that holds the data.', {
      size: type.size('20Gi', 'Size of the volume.'),
      className: type.objectName("Storage class. Empty means the cluster's default."),
      annotations: type.annotations('Annotations of the claim, which cannot be changed later.', {
        'example.com/backup': 'daily',
      }),
      retain: boolean(
        true,
        'Keep the volume when the StatefulSet is deleted, as an uninstall does. `false` deletes ' +
          'the data with it.',
      ),
    }),
    resources: type.resources({ cpu: '2', memory: '1Gi' }, { cpu: '250m', memory: '512Mi' }),
    ...type.pods,
    // Out of its Service a server that is merely slow helps no caller: there is no other one.
    ...statefulWorkload(
      { liveness: { period: 10, failures: 6 }, readiness: { period: 5, failures: 6 } },
      120,
    ),
    service,
  }),

  dbProxy: group(
    'Sidecar that authenticates to a managed PostgreSQL, in every pod that uses the database.',
    {
      enabled: boolean(false, 'Add the sidecar. Needs `postgres.enabled: false`.'),
      autoIamAuthn: boolean(
        false,
        'Log in with short-lived IAM tokens that the proxy injects; DB_PASSWORD is then ' +
          'empty on purpose.',
      ),
      privateIp: boolean(false, "Connect to the instance's private address."),
      instanceConnectionName: string('', 'Instance to connect to, as `project:region:instance`.', {
        pattern: /^([a-z0-9][a-z0-9.:-]*:[a-z0-9-]+:[a-z0-9-]+)?$/,
        expected: 'project:region:instance, or ""',
      }),
      healthPort: podPort(9801, 'Port for the health checks of the sidecar.'),
      image: type.image('cloud-sql-connectors/cloud-sql-proxy', '2.25.3', 'the database proxy'),
      resources: type.resources({ cpu: '200m', memory: '128Mi' }, { cpu: '50m', memory: '64Mi' }),
    },
  ),

  buildkit: group(
    'BuildKit: builds the images of crews. Rootless, but it needs more than Pod Security ' +
      '"baseline" allows.',
    {
      enabled: boolean(true, 'Run it. `false` where a namespace enforces Pod Security.'),
      image: type.image('moby/buildkit', 'v0.32.2-rootless', 'BuildKit'),
      port: podPort(1234, 'Port of the pods and of the Service.'),
      tlsSecret: type.objectName(
        'Secret of your own with `ca.pem`, `cert.pem` and `key.pem`, and for the builds of crews ' +
          '`client-cert.pem` and `client-key.pem`: callers must show a certificate of that ' +
          'authority. Empty means one that the bootstrap makes while `crews.fromSource` and ' +
          '`rbac.create` are on; without these the network policy is the only guard.',
      ),
      config: string(
        '',
        'Lines for the end of `buildkitd.toml`: mirrors of the registries from which Dockerfiles ' +
          'take their first images, and authorities for these. Empty means none.',
        {
          pattern: /^[\t\n\r -~]*$/,
          expected: 'printable ASCII characters, in lines',
        },
      ),
      organizations: string(
        '',
        'Ids of the organizations that trust each other so far as to build with one BuildKit, ' +
          'with commas between; `*` means all. Empty means that images are built only while ' +
          'there is one organization: a hostile build reaches those beside it.',
        {
          pattern: /^(\*|[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*)?$/,
          expected: 'ids of organizations with commas between, "*", or ""',
        },
      ),
      openRanges: texts(
        'Private ranges that builds reach, such as that of a mirror or of a proxy. Public ' +
          'addresses, web and the registry need not be listed.',
        type.RANGE,
      ),
      cacheGigabytes: integer(10, 'Gigabytes that the build cache may take of a node.', {
        min: 1,
        max: 9999,
      }),
      resources: type.resources({ cpu: '2', memory: '2Gi' }, { cpu: '100m', memory: '256Mi' }),
      ...type.pods,
      ...endingWorkload({
        startup: { period: 5, failures: 24, timeout: 10 },
        liveness: { period: 20, failures: 3 },
        readiness: { period: 15, failures: 3, timeout: 10 },
      }),
      service,
    },
  ),

  internalRegistry: group('Registry for the images of crews, inside the cluster.', {
    enabled: boolean(true, 'Run it.'),
    image: type.image('registry', '3.1.1', 'the registry'),
    port: podPort(5000, 'Port of the pods and of the Service.'),
    htpasswdSecret: type.objectName(
      'Secret whose key `htpasswd` lists users and bcrypt hashes, for uses of your own: crews ' +
        'from source are then not built as images. Empty means credentials for each ' +
        'organization, which derive from `secrets.REGISTRY_KEY`.',
    ),
    pullAddress: type.registry(
      'Address under which nodes pull images of crews. Empty means `localhost` and the node port ' +
        'of the Service, from which container runtimes pull without TLS.',
    ),
    storage: group('The volume that holds the images.', {
      size: type.size('20Gi', 'Size of the volume.'),
      className: type.objectName("Storage class. Empty means the cluster's default."),
      annotations: type.annotations('Annotations of the claim.', {
        'example.com/backup': 'daily',
      }),
      retain: boolean(true, 'Keep the claim when Helm uninstalls the release.'),
    }),
    resources: type.resources({ cpu: '500m', memory: '256Mi' }, { cpu: '50m', memory: '64Mi' }),
    ...type.pods,
    ...endingWorkload(),
    service,
  }),
} as const
