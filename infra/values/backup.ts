import { CRON } from './cron.ts'
import { boolean, group, integer, string, word } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The backups of both databases. */
export const backup = group('Backups of both databases, by a CronJob.', {
  enabled: boolean(false, 'Make them. Needs `backup.passphraseSecret`.'),
  schedule: string('17 2 * * *', 'When, as cron has it, in UTC.', {
    pattern: CRON,
    expected: 'five fields of cron, such as "17 2 * * *" or "0 4,16 1-7 * MON-FRI"',
  }),
  keep: integer(7, 'Backups that are kept; older ones are removed after each new one.', {
    min: 1,
    max: 1000,
  }),
  verify: word(
    ['restore', 'read'],
    'restore',
    'How each backup is checked: restored into a database beside the original, for which ' +
      '`envVars.DB_USER` needs `CREATEDB` and the server the space; or only read again.',
  ),
  deadlineSeconds: integer(21_600, 'The longest that one backup may take, with its check.', {
    min: 60,
    max: 604_800,
  }),
  passphraseSecret: type.objectName(
    'Secret of yours with the passphrase, of 20 characters or more, that seals the backups. ' +
      'Keep it elsewhere, too: without it they cannot be opened.',
  ),
  passphraseKey: type.dataKey('passphrase', 'Key in that Secret.'),
  volume: group('The volume that backups are written to, unless `s3.bucket` is set.', {
    existingClaim: type.objectName(
      'PersistentVolumeClaim of yours. Empty means one of the chart, which stays after the ' +
        'release.',
    ),
    className: type.objectName("Storage class. Empty means the cluster's default."),
    size: type.size('20Gi', 'Size: `keep` + 1 backups have to fit.'),
  }),
  s3: group('An S3-compatible store that backups are written to.', {
    bucket: string('', 'Name of the bucket, which exists. Empty means the volume.', {
      pattern: /^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$/,
      expected: 'the name of a bucket, or ""',
    }),
    endpoint: type.optionalUrl('Address of the store, such as https://s3.eu-west-1.amazonaws.com.'),
    prefix: string('', 'Beginning of the names of all files, such as platform/.', {
      pattern: /^([A-Za-z0-9._-]{1,60}\/){0,5}$/,
      expected: 'a path that ends with "/", or ""',
    }),
    region: string('us-east-1', 'Region that requests are signed for.', {
      pattern: /^[a-z0-9-]{1,40}$/,
      expected: 'the name of a region',
    }),
    credentialsSecret: type.objectName(
      'Secret of yours with the keys `access-key-id` and `secret-access-key`.',
    ),
  }),
  resources: type.resources({ cpu: '1', memory: '512Mi' }, { cpu: '100m', memory: '256Mi' }),
  ...type.pods,
})
