import { boolean, group, integer, port, string } from '../template/schema.ts'
import * as type from '../value-types.ts'
import { CRON } from './cron.ts'

/** Old days of traces, as files of an object store. */
const archive = group(
  'Days of traces as Parquet files: on the bucket of the backups (`backup.s3`), or on a volume.',
  {
    enabled: boolean(
      false,
      'Archive days by a CronJob, and read them. Lists, totals, sessions, traces, the search and ' +
        'the export show archived days as others. Stays true for as long as there are archived ' +
        'days.',
    ),
    hotDays: integer(30, 'Days that spans stay in the database; older ones are not taken.', {
      min: 1,
      max: 36_400,
    }),
    organizationHotDays: type.daysByOrganization(
      'Days that spans of an organization, by its id, stay in the database, where that is fewer ' +
        'than `hotDays`; never more. The id `""` is for traces without an organization.',
    ),
    coldDays: integer(
      365,
      'Days that spans are kept at all, instead of `collector.config.retentionWeeks`.',
      { min: 2, max: 36_400 },
    ),
    schedule: string('41 3 * * *', 'When days are archived, as cron has it, in UTC.', {
      pattern: CRON,
      expected: 'five fields of cron, such as "41 3 * * *" or "0 4,16 1-7 * MON-FRI"',
    }),
    deadlineSeconds: integer(21_600, 'The longest that one run may take.', {
      min: 60,
      max: 604_800,
    }),
    existingClaim: type.objectName(
      'PersistentVolumeClaim of yours for the files, which all collectors mount (ReadWriteMany). ' +
        'Empty means `backup.s3.bucket`.',
    ),
    resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
  },
)

/** Where traces are kept and read, beside the platform's own server. */
export const traceDatabases = {
  archive,
  database: group('A PostgreSQL server for the traces alone.', {
    host: string('', 'Host. Empty means the server of the platform.', {
      pattern: /^([A-Za-z0-9][A-Za-z0-9.-]*)?$/,
      expected: 'a host name or address, or ""',
    }),
    port: port(5432, 'Port.'),
    name: string(
      '',
      'Database on that server. Empty means the name in `postgres.collectorDatabase`.',
      {
        pattern: /^([A-Za-z_][A-Za-z0-9_-]{0,62})?$/,
        expected: 'a PostgreSQL database name of up to 63 letters, digits, - and _, or ""',
      },
    ),
    create: boolean(
      false,
      'Create that database when it is missing: the user needs `CREATEDB`, and a database ' +
        '`postgres` to connect to. `false` means that it exists.',
    ),
    user: type.databaseUser('collector', 'User with all privileges on the database.'),
    passwordSecret: type.objectName('Secret of yours with the password of that user.'),
    passwordKey: type.dataKey('password', 'Key in that Secret.'),
    sslMode: type.sslMode('How connections to that server are encrypted.'),
  }),
  readDatabase: group(
    'A streaming replica of the trace database, which the read API asks instead of it. Each ' +
      'answer says how far the replica may be behind.',
    {
      urlSecret: type.objectName(
        'Secret of yours with its address, such as ' +
          '`postgres://user:password@replica:5432/collector?sslmode=verify-full`. Empty means ' +
          'that there is no replica.',
      ),
      urlKey: type.dataKey('url', 'Key in that Secret.'),
      port: port(5432, 'Port in that address, for the network policy.'),
    },
  ),
  citus: group('For a trace database on Citus, which spreads the spans over several servers.', {
    distribute: boolean(
      false,
      'Distribute the spans by trace id, with those that are there. It is not taken back by ' +
        '`false`.',
    ),
    coordinatorSecret: type.objectName(
      'Secret of yours with the address of the coordinator, as in `readDatabase`. Only needed ' +
        'when `database` is another node, through which the spans are written.',
    ),
    coordinatorKey: type.dataKey('url', 'Key in that Secret.'),
  }),
}
