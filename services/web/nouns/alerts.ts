import { html } from 'hono/html'
import * as v from 'valibot'
import {
  ALERTS_MAX,
  createAlert,
  deleteAlert,
  findAlert,
  listAlerts,
  readAlert,
  SILENCE_HOURS,
  silenceAlert,
  updateAlert,
} from '../../platform/alerts/alerts.ts'
import type { Alert, AlertFields } from '../../platform/alerts/alerts.ts'
import {
  DOLLAR_DECIMALS,
  isKnown,
  labelOf,
  WATCHED,
  WATCHES,
  WINDOWS,
  withUnit,
} from '../../platform/alerts/watches.ts'
import type { Watched, Window } from '../../platform/alerts/watches.ts'
import { listAutomationNames } from '../../platform/automations/automations.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { oneOf, whole } from '../../shared/schemas.ts'
import { integer, nullable, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { changesSection } from '../console/alerts/changes-section.ts'
import { absoluteTime } from '../console/frame/format.ts'
import { choice, number, text, words } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State, Values } from '../resources/declaration.ts'
import { factsByName } from './by-name.ts'
import { nameField } from './name-text.ts'
import { organization } from './organization.ts'

const NAME_MAX = 100
const FILTER_MAX = 500
const MAIL_MAX = 20
const MINUTES_MAX = 1440
const THRESHOLD_MAX = 1_000_000_000_000
const RUNS_MAX = 1_000_000

const WINDOW_NAMES = ['5m', '15m', '1h', '6h', '1d'] as const satisfies readonly Window[]

const amountProblem =
  `must be a number above 0, ${THRESHOLD_MAX} at the most, with ${DOLLAR_DECIMALS} decimals at ` +
  'the most'
const amount = v.pipe(
  v.number(amountProblem),
  v.check(
    (given) =>
      given > 0 && given <= THRESHOLD_MAX && Number(given.toFixed(DOLLAR_DECIMALS)) === given,
    amountProblem,
  ),
)

const fields = {
  name: nameField(NAME_MAX, { example: 'Research fails' }),
  watches: field(oneOf(WATCHED), {
    label: 'Watches',
    control: choice(
      Object.fromEntries(
        WATCHED.map((name) => [name, `${WATCHES[name].label} (${WATCHES[name].unit})`]),
      ),
    ),
    example: 'failure_share',
  }),
  automation: field(v.optional(v.nullable(v.string('must be a text')), null), {
    label: 'Automation',
    hint: 'Its slug. Without one: all automations together, and traces that other programs send.',
    control: text({ max: 200, isMono: true, isOptional: true }),
  }),
  window: field(v.optional(oneOf(WINDOW_NAMES), '1h'), {
    label: 'Looks back over',
    hint: 'It looks at runs or traces that ended in this time.',
    control: choice({
      '5m': '5 minutes',
      '15m': '15 minutes',
      '1h': 'an hour',
      '6h': '6 hours',
      '1d': 'a day',
    }),
    example: '1h',
  }),
  filter: field(v.optional(v.pipe(v.string('must be a text'), v.maxLength(FILTER_MAX)), ''), {
    label: 'Only with',
    hint: 'As in query boxes: model:gpt* cost>0.1; runs also trigger:event, traces service:shop.',
    control: text({ max: FILTER_MAX, isMono: true, isOptional: true }),
  }),
  threshold: field(amount, {
    label: 'Fires at',
    hint: 'This value or a higher one, in the unit of what it watches. Dollars may have decimals.',
    control: number({ max: THRESHOLD_MAX, decimals: DOLLAR_DECIMALS }),
    example: 20,
  }),
  resolves_below: field(v.optional(v.nullable(amount), null), {
    label: 'Is resolved below',
    hint: 'A lower value keeps it from firing again and again. Without one: the value above.',
    control: number({ max: THRESHOLD_MAX, decimals: DOLLAR_DECIMALS, isOptional: true }),
    example: 10,
  }),
  for_minutes: field(v.optional(whole(0, MINUTES_MAX), 0), {
    label: 'Fires after (minutes)',
    hint: 'The value has to be that high for this long.',
    control: number({ min: 0, max: MINUTES_MAX }),
    example: 5,
  }),
  minimum: field(v.optional(whole(1, RUNS_MAX), 1), {
    label: 'Fewest runs or traces',
    hint: 'With fewer it does not fire. Budgets, approvals and schedules need none.',
    control: number({ max: RUNS_MAX }),
    example: 10,
  }),
  mail: field(
    v.optional(
      v.pipe(
        v.array(v.string('must be a text'), 'must be a list of texts'),
        v.maxLength(MAIL_MAX, `must have at most ${MAIL_MAX} addresses`),
      ),
      [],
    ),
    {
      label: 'Mail to',
      hint:
        'Addresses of members. Webhooks of the automation, or of all, that are sent the events ' +
        'alert_firing and alert_resolved need no entry here.',
      control: words,
    },
  ),
}

const values = (alert: AlertFields): Values<typeof fields> => ({
  name: alert.name,
  watches: alert.watches,
  automation: alert.automation,
  window: WINDOW_NAMES.find((name) => WINDOWS[name] === alert.windowMinutes) ?? '1d',
  filter: alert.filter,
  threshold: alert.threshold,
  resolves_below: alert.resolvesBelow,
  for_minutes: alert.forMinutes,
  minimum: alert.minimum,
  mail: [...alert.mail],
})

/** Rules over runs and traces, which say when people and webhooks are told. */
export const alerts = resource<Organization, AlertFields, Alert, typeof fields>({
  kind: 'alert',
  id: 'uuid',
  under: organization('/alerts'),
  most: ALERTS_MAX,
  fields,
  values,
  facts: factsByName({
    state: { ...string, enum: ['ok', 'firing'] },
    changed_at: say(perhapsMoment, 'When the state became what it is; null: never.'),
    value: say(nullable('number'), 'Of the last look; null: there was nothing to measure.'),
    samples: say(integer, 'How many runs, traces or others the value is made of.'),
    looked_at: perhapsMoment,
    silenced_until: say(perhapsMoment, 'Until then its state stays as it is; null: it is not.'),
  }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: ({ sql, owner }) => listAlerts(sql, owner.id),
    find: ({ sql, owner }, id) => findAlert(sql, { id, organizationId: owner.id }),
    async read({ sql, owner, deps: { mailer } }, given) {
      if (given.mail.length > 0 && !mailer) throw new AppError('unprocessable', NO_MAILER)
      const { window, resolves_below: resolvesBelow, for_minutes: forMinutes, ...rest } = given
      const [name, windowMinutes] = [rest.name.trim(), WINDOWS[window]]
      return readAlert(sql, owner.id, { ...rest, name, windowMinutes, resolvesBelow, forMinutes })
    },
    create: async ({ sql, owner }, given) => ({ row: await createAlert(sql, owner.id, given) }),
    change: ({ sql }, row, given) => updateAlert(sql, row, given),
    remove: ({ sql }, row) => deleteAlert(sql, row),
  },
  actions: {
    silence: {
      text: `Silence for ${SILENCE_HOURS} hours`,
      past: 'silenced',
      done: 'The alert is silent: its state stays as it is, and no message is sent.',
      undo: 'resume',
      isOffered: ({ silencedUntil }) => silencedUntil === null,
      does: ({ sql }, row) => silenceAlert(sql, row, SILENCE_HOURS),
    },
    resume: {
      text: 'End the silence',
      past: 'resumed',
      done: 'The alert is looked at again.',
      undo: 'silence',
      isOffered: ({ silencedUntil }) => silencedUntil !== null,
      does: ({ sql }, row) => silenceAlert(sql, row, 0),
    },
  },
  words: {
    about:
      'An alert watches runs or traces, and sends mails and webhooks when a value is too high.',
    icon: 'alert',
    form: 'Rule',
    saved: 'The alert is saved. It is looked at within a minute.',
    deleted: 'The alert is deleted, with its changes of state.',
    deletes: 'It sends nothing any more. Its changes of state are deleted as well.',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    {
      title: 'Watches',
      className: 'row-wide',
      cell: ({ watches, threshold }) => `${labelOf(watches)}, from ${withUnit(watches, threshold)}`,
    },
    {
      title: 'Of',
      className: 'row-wide',
      cell: ({ automation }) => automation ?? 'all automations',
    },
    { title: 'Last value', cell: ({ watches, value }) => valueText(watches, value) },
  ],
  proposes: async () => ({ watches: 'failure_share', threshold: 20, minimum: 10 }),
  suggests: async ({ sql, owner }) => ({
    automation: (await listAutomationNames(sql, owner.id)).map(({ slug }) => slug),
  }),
  main: changesSection,
})

const NO_MAILER =
  'This platform has no mail server, so that it sends no mails. Leave the addresses out, or ask ' +
  'the operator for SMTP_URL.'

const unknownText = (watches: string): string =>
  `This version of the platform does not know what it watches, "${watches}": a newer one made ` +
  'it. It is not looked at here, and says nothing.'

const valueText = (watches: Watched, value: number | null): string =>
  value === null ? '–' : withUnit(watches, value)

function stateOf({ state, silencedUntil, watches, value }: Alert): State {
  if (!isKnown(watches)) return ['idle', 'not looked at', unknownText(watches)]
  if (silencedUntil !== null) {
    const until = `Nothing is sent until ${absoluteTime(silencedUntil)}.`
    return ['idle', state === 'firing' ? 'firing, silent' : 'silent', until]
  }
  if (state === 'ok') return ['good', 'ok']
  return ['bad', 'firing', `The last value is ${valueText(watches, value)}.`]
}
