import { html } from 'hono/html'
import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import {
  createCaseSet,
  deleteCaseSet,
  findCaseSet,
  listCaseSets,
  SETS_MAX,
  updateCaseSet,
} from '../../platform/evaluations/case-sets.ts'
import type { CaseSet, CaseSetFields } from '../../platform/evaluations/case-sets.ts'
import { checks } from '../../platform/evaluations/checks.ts'
import { integer, say } from '../api/openapi/parts.ts'
import { casesSection } from '../console/evaluations/cases-section.ts'
import { count, plural } from '../console/frame/format.ts'
import { text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { checkRows } from './checks-control.ts'

const NAME_MAX = 100

const fields = {
  name: field(
    v.pipe(
      v.string('must be a text'),
      v.trim(),
      v.minLength(1, 'must not be empty'),
      v.maxLength(NAME_MAX, `must have at most ${NAME_MAX} characters`),
      v.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters'),
    ),
    { label: 'Name', control: text({ max: NAME_MAX }), example: 'Support' },
  ),
  checks: field(v.optional(checks, []), {
    label: 'Checks',
    hint: 'Without one, a case passes when its run completes.',
    control: checkRows,
    example: [{ type: 'contains' }],
  }),
}

/** The field that names a set. */
export const setField = field(v.pipe(v.string('must be a text'), v.maxLength(100, 'is too long')), {
  label: 'Set of cases',
  hint: 'Its name',
  control: text({ max: 100 }),
  example: 'Billing',
})

/** Cases of an automation that are performed together, and what is checked of each. */
export const caseSets = resource<Automation, CaseSetFields, CaseSet, typeof fields>({
  kind: 'case_set',
  id: 'uuid',
  under: designOfAutomation,
  most: SETS_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    size: say(integer, 'How many cases it has.'),
    revision: say(integer, 'Changes with its cases and its checks.'),
  }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: ({ sql, owner }) => listCaseSets(sql, owner.id),
    find: ({ sql, owner }, id) => findCaseSet(sql, { id, deploymentId: owner.id }),
    read: async (_, given) => given,
    create: async ({ sql, owner }, given) => ({ row: await createCaseSet(sql, owner, given) }),
    change: ({ sql }, row, given) => updateCaseSet(sql, row, given),
    remove: ({ sql }, row) => deleteCaseSet(sql, row),
  },
  actions: {},
  words: {
    about:
      'A set has cases: inputs, with the output that is expected where one is known. An ' +
      'evaluation performs them with one or two versions, and checks what is put out.',
    icon: 'check',
    form: 'Name and checks',
    saved: 'The set is saved.',
    deleted: 'The set is deleted, with its cases and evaluations.',
    deletes: 'Its cases are deleted, and the evaluations of them. The runs they are made of stay.',
  },
  name: ({ name }) => name,
  state: ({ size }) => (size > 0 ? ['good', plural(size, 'case')] : ['idle', 'empty']),
  columns: [
    { title: 'Set', cell: ({ name }) => html`<span class="break">${name}</span>` },
    { title: 'Cases', cell: ({ size }) => count(size) },
    {
      title: 'Checks',
      className: 'row-wide',
      cell: ({ checks: given }) => given.map(({ type }) => type).join(', ') || 'it completes',
    },
  ],
  proposes: async () => ({ checks: [{ type: 'contains' }] }),
  main: casesSection,
})
