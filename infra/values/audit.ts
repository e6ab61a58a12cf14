import { group, integer, word } from '../template/schema.ts'

/** The record of who changed what. */
export const audit = group('The record of who changed what.', {
  retentionDays: integer(365, 'Days for which the audit is kept.', { min: 30, max: 36_500 }),
  log: word(['on', 'off'], 'off', 'Whether workers write the audit to standard output, too.'),
})
