import { group, integer } from '../template/schema.ts'

const range = { min: 0, max: 10_000_000 }

/** What each organization may ask for, unless an administrator of the platform gave it its own. */
export const limits = group(
  'What each organization may ask for. An administrator of the platform gives one limits of its ' +
    'own on the page Organizations.',
  {
    tokenCallsPerMinute: integer(
      6000,
      'Calls of the APIs in a minute with one token, or by one OAuth client. 0 means no limit.',
      range,
    ),
    organizationCallsPerMinute: integer(
      30_000,
      'Calls of the APIs in a minute by one organization. 0 means no limit.',
      range,
    ),
    queuedRuns: integer(
      10_000,
      'Runs of one organization that wait in the queue. 0 means no limit.',
      range,
    ),
  },
)
