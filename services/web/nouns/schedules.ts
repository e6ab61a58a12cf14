import { html } from 'hono/html'
import * as v from 'valibot'
import { getDefinition } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { inputFields } from '../../platform/definitions/crew-inputs.ts'
import { proposedInputs } from '../../platform/definitions/input-schema.ts'
import { readSchedule } from '../../platform/schedules/schedule-fields.ts'
import {
  comingTimes,
  createSchedule,
  deleteSchedule,
  findSchedule,
  listSchedules,
  MISSED_POLICIES,
  pauseSchedule,
  resumeSchedule,
  SCHEDULES_MAX,
  updateSchedule,
} from '../../platform/schedules/schedules.ts'
import type { MissedPolicy, Schedule, ScheduleFields } from '../../platform/schedules/schedules.ts'
import { textUpTo } from '../../shared/schemas.ts'
import { ago, time } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { list, moment, nullable, perhapsMoment, say } from '../api/openapi/parts.ts'
import { choice, json, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { View } from '../resources/declaration.ts'
import { automation, inputsByName } from './automation.ts'
import { valuesByName } from './by-name.ts'

const TEXT_MAX = 200
const words = () => textUpTo(TEXT_MAX)

const MISSED: Readonly<Record<MissedPolicy, string>> = {
  skip: 'Skip them',
  run_once: 'Start one run for all of them',
}

const fields = {
  name: field(words(), { label: 'Name', control: text({ max: 100 }), example: 'Each workday' }),
  cron: field(words(), {
    label: 'Times, as cron',
    hint: 'Minute, hour, day of the month, month, day of the week',
    control: text({ max: TEXT_MAX, isMono: true }),
    example: '30 8 * * MON-FRI',
  }),
  time_zone: field(words(), {
    label: 'Time zone',
    hint: 'A name such as Europe/Berlin or UTC',
    control: text({ max: 64 }),
    example: 'Europe/Berlin',
  }),
  missed: field(
    v.optional(v.picklist(MISSED_POLICIES, `must be ${MISSED_POLICIES.join(' or ')}`), 'skip'),
    {
      label: 'Missed times, while no worker ran',
      control: choice(MISSED),
      example: 'skip',
    },
  ),
  inputs: field(inputsByName, {
    label: 'Inputs',
    hint: 'A JSON object, as a run of the automation takes it',
    control: json({ rows: 6 }),
    example: { topic: 'tidal power' },
    facts: () => ({}),
  }),
}

/** When runs of an automation start by themselves. */
export const schedules = resource<Automation, ScheduleFields, Schedule, typeof fields>({
  kind: 'schedule',
  id: 'number',
  under: automation,
  most: SCHEDULES_MAX,
  fields,
  values: valuesByName(fields),
  facts: {
    paused_at: [say(perhapsMoment, 'Null: it is not paused.'), (row) => row.pausedAt],
    next_times: [
      { ...list(moment), maxItems: 5, description: 'None while it is paused.' },
      (row) => (row.pausedAt ? [] : comingTimes(row)),
    ],
    last_at: [perhapsMoment, ({ lastAt }) => lastAt],
    last_kickoff_id: [nullable('string', { format: 'uuid' }), ({ lastRunId }) => lastRunId],
    last_problem: [
      say(nullable('string'), 'Why the last time started no run.'),
      ({ lastProblem }) => lastProblem,
    ],
  },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: ({ sql, owner }) => listSchedules(sql, owner.id),
    find: ({ sql, owner }, id) => findSchedule(sql, { id: Number(id), deploymentId: owner.id }),
    read: ({ sql, owner }, { time_zone: timeZone, ...values }) =>
      readSchedule(sql, owner, { ...values, timeZone }),
    create: async ({ sql, owner, userId: createdBy }, given) => ({
      row: await createSchedule(sql, { deploymentId: owner.id, createdBy }, given),
    }),
    change: ({ sql }, row, given) => updateSchedule(sql, row, given),
    remove: ({ sql }, row) => deleteSchedule(sql, row),
  },
  actions: {
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The schedule is paused: it starts no run until it is resumed.',
      undo: 'resume',
      isOffered: ({ pausedAt }) => pausedAt === null,
      does: ({ sql }, row) => pauseSchedule(sql, row),
    },
    resume: {
      text: 'Resume',
      past: 'resumed',
      done: 'The schedule is resumed.',
      undo: 'pause',
      isOffered: ({ pausedAt }) => pausedAt !== null,
      does: ({ sql }, row) => resumeSchedule(sql, row),
    },
  },
  words: {
    about: 'A schedule starts runs by itself, at the times of a clock.',
    icon: 'repeat',
    form: 'Times and inputs',
    saved: 'The schedule is saved.',
    deleted: 'The schedule is deleted. The runs that it started stay.',
    deletes: 'It starts no more runs. The runs that it started stay.',
  },
  name: ({ name }) => name,
  state: ({ pausedAt, lastProblem }) => {
    if (pausedAt) return ['idle', 'Paused']
    return lastProblem === null ? ['good', 'On'] : ['bad', 'Cannot start', lastProblem]
  },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    {
      title: 'Times',
      cell: ({ cron, timeZone }) =>
        html`<span class="mono">${cron}</span> <span class="sub">${timeZone}</span>`,
    },
    { title: 'Next', cell: ({ nextAt }) => (nextAt ? ago(nextAt) : '–') },
  ],
  proposes: async ({ sql, owner }) => ({
    time_zone: 'UTC',
    inputs: proposedInputs(inputFields(await getDefinition(sql, owner))),
  }),
  beside: (view) => html`${nextSection(view)} ${lastSection(view)}`,
})

type OfSchedule = View<Automation, Schedule>

function nextSection({ row }: OfSchedule): Html {
  return html`<section class="card" aria-labelledby="next">
    <div class="card-head"><h2 id="next">Next five times</h2></div>
    ${row.pausedAt ? html`<p class="hint">Paused: it would come at these times.</p>` : ''}
    <ol class="plan">
      ${comingTimes(row).map((each) => html`<li>${time(each)}</li>`)}
    </ol>
  </section>`
}

function lastSection({ owner, row: { lastAt, lastRunId } }: OfSchedule): Html {
  const run = `${automation.pathOf(owner)}/executions/${lastRunId}`
  return html`<section class="card" aria-labelledby="last">
    <div class="card-head"><h2 id="last">Last time</h2></div>
    ${lastAt ? html`<p>${time(lastAt)}</p>` : html`<p class="hint">It has not run yet.</p>`}
    ${lastRunId ? html`<p><a href="${run}">The last run that it started</a></p>` : ''}
  </section>`
}
