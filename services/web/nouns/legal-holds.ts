import { html } from 'hono/html'
import {
  createHold,
  findHold,
  HOLD_KINDS,
  HOLDS_MAX,
  liftHold,
  listHolds,
  readHold,
} from '../../platform/erasures/legal-holds.ts'
import type { HoldFields, LegalHold } from '../../platform/erasures/legal-holds.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { oneOf } from '../../shared/schemas.ts'
import { moment, nullable, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { ago } from '../console/frame/parts.ts'
import { choice, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State } from '../resources/declaration.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { nameField, nameText } from './name-text.ts'
import { organization } from './organization.ts'

const NAME_MAX = 100
const VALUE_MAX = 500

const fields = {
  name: nameField(NAME_MAX, {
    hint: 'Such as the number of the case',
    example: 'Case 2026-07',
    isFixed: true,
  }),
  kind: field(oneOf(HOLD_KINDS), {
    label: 'Keeps',
    control: choice({
      automation: 'The runs of an automation',
      run: 'A run',
      trace: 'A trace',
      user: 'What a user started, and traces with their id',
      text: 'What has a text',
    }),
    example: 'text',
    isFixed: true,
  }),
  value: field(nameText(VALUE_MAX), {
    label: 'Which',
    hint: 'The id of the automation, the run, the trace or the user, or the text',
    control: text({ max: VALUE_MAX }),
    example: 'contract 4711',
    isFixed: true,
  }),
}

/** What keeps data from erasure, retention and deletion. */
export const legalHolds = resource<Organization, HoldFields, LegalHold, typeof fields>({
  kind: 'legal_hold',
  id: 'uuid',
  under: organization('/erasures', [{ path: '/erasures', name: 'Erasures' }]),
  most: HOLDS_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    created_at: moment,
    created_by: string,
    applied_at: say(perhapsMoment, 'When traces were last put under it; null: not yet.'),
    problem: say(nullable('string'), 'Why traces are not under it yet.'),
  }),
  rights: { read: 'admin', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listHolds(sql, owner.id),
    find: ({ sql, owner }, id) => findHold(sql, { id, organizationId: owner.id }),
    read: ({ sql, owner }, { name, kind, value }) =>
      readHold(sql, owner.id, { name: name.trim(), kind, value: value.trim() }),
    create: async ({ sql, owner, actor }, given) => ({
      row: await createHold(sql, { organizationId: owner.id, createdBy: actor.name }, given),
    }),
    // Within the transaction: a hold whose traces could not be let go is still there.
    async remove({ sql, owner, deps: { traceHolds } }, row) {
      await liftHold(sql, row)
      await traceHolds?.lift(owner.id, row.id)
    },
  },
  actions: {},
  words: {
    about: 'A hold keeps data from erasure, retention and deletion until it is lifted.',
    icon: 'flag',
    form: 'Hold',
    saved: 'The hold applies.',
    end: ['Lift', 'lifted'],
    deleted: 'The hold is lifted. What is older than the retention is deleted within the hour.',
    deletes: 'What it kept can be erased and deleted, and is once it is older than the retention.',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    { title: 'Keeps', cell: ({ kind }) => kind },
    { title: 'Which', cell: ({ value }) => html`<span class="break">${value}</span>` },
    { title: 'Since', cell: ({ createdAt }) => ago(createdAt), className: 'quiet wide' },
  ],
  proposes: async () => ({ kind: 'automation' }),
})

function stateOf({ problem, appliedAt }: LegalHold): State {
  if (problem !== null) return ['bad', 'runs only', `Its traces are not under it yet: ${problem}`]
  return appliedAt === null ? ['good', 'applies to runs'] : ['good', 'applies']
}
