import { html } from 'hono/html'
import type { Automation } from '../../platform/automations/automations.ts'
import { getScoreRule, saveScoreRule } from '../../platform/evaluations/score-rules.ts'
import type { ScoreRule } from '../../platform/evaluations/score-rules.ts'
import { whole } from '../../shared/whole.ts'
import { say, text as string } from '../api/openapi/parts.ts'
import { number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'

const fields = {
  reviewed_share: field(whole(0, 100), {
    label: 'Of 100 runs that complete, so many wait for a person',
    hint: 'They are picked at random, and wait among the reviews of the automation',
    control: number({ min: 0, max: 100 }),
    example: 5,
  }),
}

/** The rule of an automation, whose id it has. */
interface Row extends ScoreRule {
  readonly id: string
}

async function rowOf({ sql, owner }: Call<Automation>): Promise<Row> {
  return { id: owner.automationId, ...(await getScoreRule(sql, owner.id)) }
}

/** Says which runs of an automation are judged. */
export const scoreRules = resource<Automation, ScoreRule, Row, typeof fields>({
  kind: 'score_rule',
  id: 'uuid',
  under: designOfAutomation,
  most: 1,
  isOnly: true,
  fields,
  identity: 'name',
  values: ({ reviewedShare }) => ({ reviewed_share: reviewedShare }),
  facts: { name: [say(string, 'Always `scores`.'), () => 'scores'] },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) =>
      id.toLowerCase() === call.owner.automationId ? rowOf(call) : undefined,
    read: async (_, { reviewed_share: reviewedShare }) => ({ reviewedShare }),
    change: ({ sql, owner }, _, given) => saveScoreRule(sql, owner, given),
  },
  actions: {},
  words: {
    about: 'The rule says which runs of the automation are judged.',
    icon: 'check',
    form: 'Rule',
    saved: 'The rule is saved.',
  },
  name: () => 'Scores',
  state: ({ reviewedShare }) =>
    reviewedShare === 0 ? ['idle', 'no run'] : ['good', `${reviewedShare} of 100 by people`],
  columns: [{ title: 'By people', cell: ({ reviewedShare }) => html`${reviewedShare} of 100` }],
  proposes: async () => ({}),
})
