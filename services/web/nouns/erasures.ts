import { html } from 'hono/html'
import * as v from 'valibot'
import {
  confirmErasure,
  createErasure,
  ERASURES_MAX,
  findErasure,
  listErasures,
  withdrawErasure,
} from '../../platform/erasures/erasures.ts'
import type { Erasure } from '../../platform/erasures/erasures.ts'
import { createNeedleSeals, NEEDLE_KINDS, readNeedle } from '../../platform/erasures/needle.ts'
import type { Needle } from '../../platform/erasures/needle.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { oneOf, textUpTo } from '../../shared/schemas.ts'
import {
  integer,
  moment,
  nullable,
  perhapsMoment,
  text as string,
  say,
} from '../api/openapi/parts.ts'
import { erasureSection, horizonSection } from '../console/erasures/erasure-section.ts'
import { count } from '../console/frame/format.ts'
import { ago } from '../console/frame/parts.ts'
import { choice, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State } from '../resources/declaration.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { nameField } from './name-text.ts'
import { headBelow, organization } from './organization.ts'

const NAME_MAX = 100
const VALUE_MAX = 500

const fields = {
  name: nameField(NAME_MAX, {
    hint: 'Such as the number of the request. It stays in the audit: never the name of the person.',
    example: 'Request 2026-114',
    isFixed: true,
  }),
  kind: field(oneOf(NEEDLE_KINDS), {
    label: 'Looks for',
    control: choice({
      text: 'A text anywhere, such as an e-mail address',
      user: 'The id of a user: what they started, and spans with it',
      attribute: 'An attribute of spans: key=value',
    }),
    example: 'text',
    isFixed: true,
  }),
  value: field(
    v.optional(
      v.pipe(
        textUpTo(VALUE_MAX),
        v.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters'),
      ),
    ),
    {
      label: 'Which',
      hint: 'Stored encrypted and never shown again. Upper and lower case are the same.',
      control: { ...text({ max: VALUE_MAX }), isSecret: true },
      example: 'ada@example.com',
      isFixed: true,
      facts: () => ({}),
    },
  ),
}

interface Given {
  readonly name: string
  readonly kind: Needle['kind']
  /** Of a new one. */
  readonly value?: string | undefined
}

const about = 'An erasure finds what belongs to a person, shows it, and erases it once you confirm.'

/** Orders to erase a person. */
export const erasures = resource<Organization, Given, Erasure, typeof fields>({
  kind: 'erasure',
  id: 'uuid',
  under: {
    ...organization('/erasures'),
    head: (owner, texts) =>
      headBelow([])(owner, {
        ...texts,
        aside: html`${texts.aside}<a class="button push" href="/legal-holds">Legal holds</a>`,
      }),
  },
  most: ERASURES_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    state: { ...string, enum: ['finding', 'planned', 'erasing', 'erased'] },
    found: {
      type: 'array',
      description: 'What was found, by kind; `held` is what a legal hold keeps.',
      items: {
        type: 'object',
        required: ['kind', 'found', 'erased', 'held', 'examples'],
        properties: {
          kind: string,
          found: integer,
          erased: integer,
          held: integer,
          examples: { type: 'array', items: string },
        },
      },
    },
    problem: say(nullable('string'), 'Why it does not get on now.'),
    created_at: moment,
    created_by: string,
    confirmed_at: perhapsMoment,
    confirmed_by: nullable('string'),
    erased_at: perhapsMoment,
  }),
  rights: { read: 'admin', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listErasures(sql, owner.id),
    find: ({ sql, owner }, id) => findErasure(sql, { id, organizationId: owner.id }),
    read: async (_, { name, kind, value }) => ({
      name: name.trim(),
      kind,
      value: readNeedle({ name, kind, value: value ?? '' }).value,
    }),
    async create({ sql, owner, actor, deps: { config } }, { name, kind, value = '' }) {
      const by = {
        organizationId: owner.id,
        createdBy: actor.name,
        seals: createNeedleSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS),
      }
      return { row: await createErasure(sql, by, { name, needle: { kind, value } }) }
    },
    remove: ({ sql }, row) => withdrawErasure(sql, row),
  },
  actions: {
    confirm: {
      text: 'Erase what was found',
      past: 'confirmed',
      done: 'It is being erased. This page shows how far it is.',
      asks:
        'What was found goes for good, here and in later restores of a backup. ' +
        'What comes meanwhile is looked for, too.',
      isOffered: ({ state }) => state === 'planned',
      does: ({ sql, actor }, row) => confirmErasure(sql, row, actor.name),
    },
  },
  words: {
    about,
    icon: 'eraser',
    form: 'Order',
    saved: 'The erasure is ordered. Workers look for what there is; nothing is erased yet.',
    end: ['Withdraw', 'withdrawn'],
    deleted: 'The order is withdrawn. Nothing was erased.',
    deletes: 'Nothing is erased.',
  },
  name: ({ name }) => name,
  isRemovable: ({ confirmedAt }) => confirmedAt === null,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    { title: 'Looks for', cell: ({ kind }) => kind },
    { title: 'Found', cell: ({ found }) => count(sum(found, 'found')) },
    { title: 'Erased', cell: ({ found }) => count(sum(found, 'erased')) },
    { title: 'Held', cell: ({ found }) => count(sum(found, 'held')), className: 'wide' },
    { title: 'Ordered', cell: ({ createdAt }) => ago(createdAt), className: 'quiet wide' },
  ],
  proposes: async () => ({ kind: 'text' }),
  main: ({ sql, row, path }) => erasureSection({ sql, row, path }),
  below: () => horizonSection(),
})

const sum = (found: Erasure['found'], of: 'found' | 'erased' | 'held'): number =>
  found.reduce((all, each) => all + each[of], 0)

function stateOf({ state, found, problem }: Erasure): State {
  if (problem !== null) return ['bad', 'waits', problem]
  if (state === 'finding') return ['busy', 'looking']
  if (state === 'planned') return ['waiting', 'to be confirmed']
  const held = sum(found, 'held')
  if (state === 'erased')
    return held > 0 ? ['waiting', `erased, ${count(held)} held`] : ['good', 'erased']
  const done = sum(found, 'erased') + held
  return ['busy', `${count(done)} of ${count(sum(found, 'found'))} erased`]
}
