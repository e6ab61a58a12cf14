import { html } from 'hono/html'
import * as v from 'valibot'
import { checks, checkWithoutExpected } from '../../platform/evaluations/checks.ts'
import {
  getTraceScoreRule,
  listScoredTraceDays,
  listTraceScores,
  saveTraceScoreRule,
} from '../../platform/evaluations/trace-scores.ts'
import type { TraceScoreRule } from '../../platform/evaluations/trace-scores.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { someText, whole } from '../../shared/schemas.ts'
import { perhapsText, say, text as string } from '../api/openapi/parts.ts'
import { scoredTraces } from '../console/evaluations/scored-traces.ts'
import { SCORED_DAYS, scoresByDay } from '../console/frame/score-sections.ts'
import { number, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { checkRows } from './checks-control.ts'
import { organization } from './organization.ts'

const SHOWN_MAX = 20

const fields = {
  share: field(whole(0, 100), {
    label: 'Traces of other programs to score, in percent',
    hint: 'Soon after they ended without an error; the same ones each time',
    control: number({ min: 0, max: 100 }),
    example: 10,
  }),
  service: field(v.optional(v.nullable(someText(200)), null), {
    label: 'Of this service only',
    control: text({ max: 200, isOptional: true }),
    example: 'support-bot',
  }),
  checks: field(v.optional(checks, []), {
    label: 'Checks',
    hint:
      'As sets of cases have them, but for those that need an expected output or a person. A ' +
      'judge asks a model for each trace, which costs money.',
    control: checkRows,
    example: [{ type: 'pattern', pattern: '^[^<]*$' }],
  }),
}

/** The rule of an organization, whose id it has. */
interface Row extends TraceScoreRule {
  readonly id: number
  readonly problem: string | null
}

async function rowOf({ sql, owner: { id } }: Call<Organization>): Promise<Row> {
  return { id, ...(await getTraceScoreRule(sql, id)) }
}

/** Raises `unprocessable` for checks that no trace can pass. */
function readRule(rule: TraceScoreRule): TraceScoreRule {
  const problem =
    rule.share > 0 && rule.checks.length === 0
      ? 'Traces are scored by checks: enter one, or 0 for the share.'
      : checkWithoutExpected(rule.checks, 'traces')
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return rule
}

/** Says which traces of other programs are scored. */
export const traceScoreRules = resource<Organization, TraceScoreRule, Row, typeof fields>({
  kind: 'trace_score_rule',
  id: 'number',
  under: organization('/traces', [{ path: '/traces', name: 'Traces' }]),
  most: 1,
  isOnly: true,
  fields,
  identity: 'name',
  values: ({ share, service, checks: given }) => ({ share, service, checks: [...given] }),
  facts: {
    name: [say(string, 'Always `traces`.'), () => 'traces'],
    problem: [say(perhapsText, 'Why the last look failed.'), ({ problem }) => problem],
  },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) => (Number(id) === call.owner.id ? rowOf(call) : undefined),
    read: async (_, given) => readRule(given),
    change: ({ sql, owner }, _, given) => saveTraceScoreRule(sql, owner.id, given),
  },
  actions: {},
  words: {
    about: 'The rule says which traces of other programs are scored by checks.',
    icon: 'check',
    form: 'Rule',
    saved: 'The rule is saved. It applies to traces that start from now on.',
  },
  name: () => 'Scores of traces',
  state: ({ share, problem }) =>
    share === 0
      ? ['idle', 'no trace']
      : problem === null
        ? ['good', `${share} of 100`]
        : ['bad', 'not looked at'],
  columns: [{ title: 'Service', cell: ({ service }) => html`${service ?? 'all'}` }],
  async below({ sql, owner }) {
    const days = await listScoredTraceDays(sql, owner.id, SCORED_DAYS)
    const failed = await listTraceScores(sql, owner.id, { state: 'failed', limit: SHOWN_MAX })
    return html`${scoresByDay(days)} ${scoredTraces(failed)}`
  },
})
