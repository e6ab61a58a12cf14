import { html } from 'hono/html'
import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import { getCaseSet, listCaseSets } from '../../platform/evaluations/case-sets.ts'
import { REPEAT_MAX } from '../../platform/evaluations/evaluations.ts'
import {
  createGate,
  deleteGate,
  findGate,
  GATES_MAX,
  listGates,
  updateGate,
} from '../../platform/evaluations/gates.ts'
import type { Gate, GateFields } from '../../platform/evaluations/gates.ts'
import { trueOrFalse, whole } from '../../shared/schemas.ts'
import { number, tick } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'
import { valuesByName } from './by-name.ts'
import { setField } from './case-sets.ts'

const MINUTES_MAX = 1440

const fields = {
  set: setField,
  at_least: field(whole(0, 100), {
    label: 'Of 100 cases pass at least',
    control: number({ min: 0, max: 100 }),
    example: 90,
  }),
  keeps_passing: field(v.optional(trueOrFalse, true), {
    label: 'No case fails that the running version passes',
    hint: 'The running version performs the cases as well',
    control: tick,
    example: true,
  }),
  repeat: field(v.optional(whole(1, REPEAT_MAX), 1), {
    label: 'Repetitions',
    hint: 'How often each case is performed: it passes when all of them pass',
    control: number({ max: REPEAT_MAX }),
    example: 1,
  }),
  within_minutes: field(v.optional(whole(1, MINUTES_MAX), 60), {
    label: 'Minutes for the evaluation',
    hint: 'After them the version is refused',
    control: number({ max: MINUTES_MAX }),
    example: 60,
  }),
}

type Given = GateFields & { readonly setId: string }

/** What a version of an automation has to pass before it is published. */
export const gates = resource<Automation, Given, Gate, typeof fields>({
  kind: 'gate',
  id: 'uuid',
  under: designOfAutomation,
  most: GATES_MAX,
  fields,
  identity: 'set',
  values: valuesByName(fields),
  facts: {},
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listGates(sql, owner.id),
    find: ({ sql, owner }, id) => findGate(sql, { id, deploymentId: owner.id }),
    async read({ sql, owner }, given) {
      const { id: setId } = await getCaseSet(sql, { name: given.set, deploymentId: owner.id })
      const { at_least: atLeast, keeps_passing: keepsPassing, within_minutes, ...rest } = given
      return { ...rest, setId, atLeast, keepsPassing, withinMinutes: within_minutes }
    },
    create: async ({ sql, owner }, given) => ({ row: await createGate(sql, owner, given) }),
    change: ({ sql }, row, given) => updateGate(sql, row, given),
    remove: ({ sql }, row) => deleteGate(sql, row),
  },
  actions: {},
  words: {
    about:
      'A gate lets a version be published only after it was evaluated, and was good enough. ' +
      'Publishing starts the evaluation. An admin may publish in spite of it, with a reason.',
    icon: 'flag',
    form: 'Rule',
    saved: 'The gate is saved. It counts for the next version that is published.',
    deleted: 'The gate is deleted. Its set and evaluations stay.',
    deletes: 'Versions are published without it.',
  },
  name: ({ set }) => set,
  state: ({ atLeast, keepsPassing }) => [
    'good',
    keepsPassing ? `${atLeast} of 100, none worse` : `${atLeast} of 100`,
  ],
  columns: [
    { title: 'Set', cell: ({ set }) => html`<span class="break">${set}</span>` },
    { title: 'Minutes', cell: ({ withinMinutes }) => String(withinMinutes) },
  ],
  proposes: async () => ({ at_least: 90 }),
  suggests: async ({ sql, owner }) => ({
    set: (await listCaseSets(sql, owner.id)).map(({ name }) => name),
  }),
})
