import { CRON } from './cron.ts'
import { boolean, group, integer, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** Old days of traces, as files of an object store. */
export const archive = group(
  'Days of traces as Parquet files: on the bucket of the backups (`backup.s3`), or on a volume.',
  {
    enabled: boolean(
      false,
      'Archive days by a CronJob, and read them. Lists, totals, sessions, traces, the search and ' +
        'the export show archived days as others; filters by an attribute do not. Stays true ' +
        'for as long as there are archived days.',
    ),
    hotDays: integer(30, 'Days that spans stay in the database; older ones are not taken.', {
      min: 1,
      max: 36_400,
    }),
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
