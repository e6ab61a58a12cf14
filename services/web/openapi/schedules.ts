import { MISSED_POLICIES } from '../../platform/schedules.ts'
import {
  body,
  closed,
  integer,
  json,
  list,
  moment,
  nullable,
  parameter,
  perhapsMoment,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
} from './parts.ts'

const times = {
  name: { ...text, minLength: 1, maxLength: 100 },
  cron: {
    ...text,
    maxLength: 200,
    description: 'Minute, hour, day of the month, month, day of the week.',
    examples: ['30 8 * * MON-FRI'],
  },
  time_zone: { ...text, description: 'A name of the IANA list.', examples: ['Europe/Berlin'] },
  missed: {
    ...text,
    enum: MISSED_POLICIES,
    description: 'What happens to times that were missed because no worker ran.',
  },
  inputs: { type: 'object', additionalProperties: true },
}

/** The schemas of schedules. */
export const SCHEDULE_SCHEMAS = {
  ScheduleRequest: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'cron', 'time_zone'],
    properties: {
      ...times,
      missed: { ...times.missed, default: 'skip' },
      inputs: { ...times.inputs, default: {} },
    },
  },
  Schedule: closed({
    id: integer,
    automation_id: { ...text, format: 'uuid' },
    ...times,
    paused_at: { ...perhapsMoment, description: 'Null: it is not paused.' },
    next_times: { ...list(moment), maxItems: 5, description: 'None while it is paused.' },
    last_at: perhapsMoment,
    last_kickoff_id: nullable('string', { format: 'uuid' }),
    last_problem: nullable('string', { description: 'Why the last time started no run.' }),
  }),
  Schedules: closed({ schedules: list(schema('Schedule')) }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem(
    'A role in the organization, or a scope of the token, that does not allow this; for anything ' +
      'but reading, a session without its `X-CSRF-Token`.',
  ),
  '404': problem('The organization has no such automation, or it no such schedule.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const REQUEST = {
  requestBody: body('ScheduleRequest', {
    name: 'Each workday',
    cron: '30 8 * * MON-FRI',
    time_zone: 'Europe/Berlin',
    inputs: { topic: 'tidal power' },
  }),
}
const BAD_BODY = {
  '400': problem('The body is not JSON.'),
  '413': problem('The body is larger than 256 KiB.'),
  '415': problem('Not application/json.'),
  '422': problem('The times cannot be read or never come, or the automation takes other inputs.'),
}
const operation = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  operationId,
  tags: ['Schedules'],
  summary,
  ...rest,
})
const answers = (operationId: string, summary: string, description: string) =>
  operation(operationId, summary, {
    responses: { '200': json(description, 'Schedule'), ...COMMON },
  })

const automation = parameter('automation_id', 'path')
const schedule = parameter('schedule_id', 'path', { schema: { ...integer, minimum: 1 } })
const PATH = '/designer/v2/automations/{automation_id}/schedules'

/** The paths of schedules. */
export const SCHEDULE_PATHS = {
  [PATH]: {
    parameters: [automation],
    get: operation('listSchedules', 'The schedules of an automation, 50 at the most', {
      responses: { '200': json('The oldest first.', 'Schedules'), ...COMMON },
    }),
    post: operation('createSchedule', 'Start runs of an automation at certain times', {
      ...REQUEST,
      responses: {
        '201': json('It is there.', 'Schedule'),
        ...COMMON,
        '409': problem('The automation has as many schedules as it may.'),
        ...BAD_BODY,
      },
    }),
  },
  [`${PATH}/{schedule_id}`]: {
    parameters: [automation, schedule],
    get: answers('getSchedule', 'A schedule with its next five times', 'It.'),
    put: operation('changeSchedule', 'Change a schedule; a paused one stays paused', {
      ...REQUEST,
      responses: { '200': json('As it is now.', 'Schedule'), ...COMMON, ...BAD_BODY },
    }),
    delete: operation('deleteSchedule', 'Delete a schedule; the runs that it started stay', {
      responses: { '204': { description: 'It is gone.' }, ...COMMON },
    }),
  },
  [`${PATH}/{schedule_id}/pause`]: {
    parameters: [automation, schedule],
    post: answers('pauseSchedule', 'Let a schedule start nothing', 'It is paused.'),
  },
  [`${PATH}/{schedule_id}/resume`]: {
    parameters: [automation, schedule],
    post: answers(
      'resumeSchedule',
      'Resume a paused schedule with its next time',
      'It is resumed.',
    ),
  },
}
