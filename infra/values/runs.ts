import { group, integer } from '../template/schema.ts'

/** The runs of automations. */
export const runs = group('The runs of automations.', {
  retentionDays: integer(90, 'Days for which runs that ended are kept, with their progress.', {
    min: 1,
    max: 36_500,
  }),
})
