import { html } from 'hono/html'
import * as v from 'valibot'
import { getDefinition } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import { checks, checkWithoutExpected } from '../../platform/evaluations/checks.ts'
import { getScoreRule, saveScoreRule } from '../../platform/evaluations/score-rules.ts'
import type { ScoreRule } from '../../platform/evaluations/score-rules.ts'
import { AppError } from '../../shared/errors.ts'
import { whole } from '../../shared/schemas.ts'
import { say, text as string } from '../api/openapi/parts.ts'
import { number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'
import { checkRows } from './checks-control.ts'

const fields = {
  reviewed_share: field(whole(0, 100), {
    label: 'Completed runs for a person to rate, in percent',
    hint: 'Picked at random; they wait among the reviews of the automation',
    control: number({ min: 0, max: 100 }),
    example: 5,
  }),
  scored_share: field(v.optional(whole(0, 100), 0), {
    label: 'Completed runs to score by the checks, in percent',
    hint: 'Soon after they ended; with the same share, the same runs that a person rates',
    control: number({ min: 0, max: 100 }),
    example: 20,
  }),
  checks: field(v.optional(checks, []), {
    label: 'Checks',
    hint:
      'As sets of cases have them, but for those that need an expected output or a person. A ' +
      'judge asks a model for each run, which costs money.',
    control: checkRows,
    example: [{ type: 'tool_not_called', tool: 'mail' }],
  }),
}

/** Raises `unprocessable` for checks that no run can pass. */
async function readRule({ sql, owner }: Call<Automation>, rule: ScoreRule): Promise<ScoreRule> {
  const needsMore = checkWithoutExpected(rule.checks, 'runs')
  const judge = rule.checks.find(({ type }) => type === 'judge')
  const problem =
    rule.scoredShare > 0 && rule.checks.length === 0
      ? 'Runs are scored by checks: enter one, or 0 for the share.'
      : (needsMore ??
        (judge && isOwnCrew(await getDefinition(sql, owner))
          ? 'The crew of this automation is a program of its own, which asks no judge.'
          : undefined))
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return rule
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
  values: ({ reviewedShare, scoredShare, checks: given }) => ({
    reviewed_share: reviewedShare,
    scored_share: scoredShare,
    checks: [...given],
  }),
  facts: { name: [say(string, 'Always `scores`.'), () => 'scores'] },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) =>
      id.toLowerCase() === call.owner.automationId ? rowOf(call) : undefined,
    read: (call, { reviewed_share: reviewedShare, scored_share: scoredShare, checks: given }) =>
      readRule(call, { reviewedShare, scoredShare, checks: given }),
    change: ({ sql, owner }, _, given) => saveScoreRule(sql, owner, given),
  },
  actions: {},
  words: {
    about: 'The rule says which runs of the automation are judged, by checks and by people.',
    icon: 'check',
    form: 'Rule',
    saved: 'The rule is saved.',
  },
  name: () => 'Scores',
  state: ({ reviewedShare, scoredShare }) =>
    Math.max(reviewedShare, scoredShare) === 0
      ? ['idle', 'no run']
      : ['good', `${scoredShare} of 100 by checks, ${reviewedShare} by people`],
  columns: [{ title: 'By people', cell: ({ reviewedShare }) => html`${reviewedShare} of 100` }],
})
