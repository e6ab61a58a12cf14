import * as v from 'valibot'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { automation } from '../../../../services/web/nouns/automation.ts'
import { perhapsMoment } from '../../../../services/web/api/openapi/parts.ts'
import { choice, json, secret, text } from '../../../../services/web/resources/controls.ts'
import { field, resource } from '../../../../services/web/resources/declaration.ts'
import * as verbs from './reminder-verbs.ts'
import type { Reminder, ReminderFields } from './reminder-verbs.ts'

const NUMBERS = 'must be a list of numbers'
const fields = {
  note: field(v.pipe(v.string('must be a text'), v.minLength(1, 'must have a character')), {
    label: 'Note',
    control: text({ max: 100 }),
    example: 'Renew the certificate',
  }),
  channel: field(v.picklist(['mail', 'chat'], 'must be mail or chat'), {
    label: 'Channel',
    control: choice({ mail: 'By mail', chat: 'In the chat' }),
    example: 'mail',
    isFixed: true,
  }),
  days: field(v.optional(v.array(v.number(NUMBERS), NUMBERS), []), {
    label: 'Days before',
    hint: 'A list in JSON; none: on the day itself',
    control: json({ rows: 2 }),
    example: [30, 3],
  }),
  password: field(v.optional(v.string('must be a text')), {
    label: 'Password',
    control: secret({ max: 100 }),
  }),
}

/** What an automation's people are reminded of: it shows what a declaration takes. */
export const reminders = resource<Automation, ReminderFields, Reminder, typeof fields>({
  kind: 'reminder',
  id: 'number',
  under: automation,
  most: 3,
  fields,
  identity: 'note',
  values: ({ note, channel, days }) => ({
    note,
    channel: channel === 'chat' ? 'chat' : 'mail',
    days: [...days],
  }),
  facts: { paused_at: [perhapsMoment, ({ pausedAt }) => pausedAt] },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => verbs.listReminders(sql, owner.id),
    find: ({ sql, owner }, id) => verbs.findReminder(sql, Number(id), owner.id),
    read: async (_, values) => values,
    create: async ({ sql, owner }, of) => ({ row: await verbs.createReminder(sql, owner.id, of) }),
    change: ({ sql }, row, of) => verbs.changeReminder(sql, row, of),
    remove: ({ sql }, row) => verbs.deleteReminder(sql, row),
  },
  actions: {
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The reminder is paused.',
      does: ({ sql }, row) => verbs.pauseReminder(sql, row),
    },
  },
  words: {
    about: 'A reminder tells people of what is due.',
    icon: 'repeat',
    form: 'Reminder',
    saved: 'The reminder is saved.',
    deleted: 'The reminder is deleted.',
    deletes: 'People are reminded no more.',
  },
  name: ({ note }) => note,
  state: ({ pausedAt }) => (pausedAt ? ['idle', 'paused'] : ['good', 'on']),
  columns: [{ title: 'Note', cell: ({ note }) => note }],
  proposes: async () => ({ channel: 'mail' }),
})
