import { html } from 'hono/html'
import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import { listCaseSets } from '../../platform/evaluations/case-sets.ts'
import {
  createEvaluation,
  deleteEvaluation,
  EVALUATIONS_MAX,
  findEvaluation,
  listEvaluations,
  REPEAT_MAX,
} from '../../platform/evaluations/evaluations.ts'
import type { Evaluation, EvaluationFields } from '../../platform/evaluations/evaluations.ts'
import { getRunVersion } from '../../platform/projects/project-versions.ts'
import { whole } from '../../shared/schemas.ts'
import * as s from '../api/openapi/parts.ts'
import { evaluationSection } from '../console/evaluations/evaluation-section.ts'
import { percent } from '../console/evaluations/scores-table.ts'
import { ago } from '../console/frame/parts.ts'
import { number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { setField } from './case-sets.ts'

const VERSION_MAX = 2 ** 31 - 1
const CASES_MAX = 100_000

const estimate = s.closed({ value: s.number, low: s.number, high: s.number })
const side = s.closed({
  cases: s.integer,
  passed: s.say(s.integer, 'Those of which each repetition passes.'),
  flaky: s.say(s.integer, 'Those of which some repetitions pass, and some do not.'),
  errors: s.say(s.integer, 'Those of which something could not be judged.'),
  share: s.say(estimate, 'The share that passed, with its 95 % interval.'),
  tokens: s.number,
  usd: s.say(s.nullable('number'), 'Null: a model has no price.'),
  seconds: s.say(s.nullable('number'), 'The mean of a run.'),
})
const difference = s.closed({
  better: s.say(s.integer, 'Cases that only the version passes.'),
  worse: s.say(s.integer, 'Cases that only the one beside it passes.'),
  of: s.integer,
  share: s.say(estimate, 'The difference of the shares.'),
})
const scores = s.document('Scores', {
  version: side,
  against: s.orNull(side),
  difference: s.orNull(difference),
})

const fields = {
  set: setField,
  version: field(whole(1, VERSION_MAX), {
    label: 'Version that performs them',
    hint: 'A version or draft of its project.',
    control: number({ max: VERSION_MAX }),
    example: 1,
  }),
  against: field(v.optional(v.nullable(whole(1, VERSION_MAX)), null), {
    label: 'Version beside it',
    hint: 'It performs the same cases, and both are compared.',
    control: number({ max: VERSION_MAX, isOptional: true }),
  }),
  repeat: field(v.optional(whole(1, REPEAT_MAX), 1), {
    label: 'Repetitions',
    hint: 'How often each case is performed: it passes when all of them pass',
    control: number({ max: REPEAT_MAX }),
    example: 1,
  }),
  newest: field(v.optional(v.nullable(whole(1, CASES_MAX)), null), {
    label: 'Newest cases only',
    control: number({ max: CASES_MAX, isOptional: true }),
  }),
}

/** Sets of cases that one or two versions perform. */
export const evaluations = resource<Automation, EvaluationFields, Evaluation, typeof fields>({
  kind: 'evaluation',
  id: 'uuid',
  under: designOfAutomation,
  most: EVALUATIONS_MAX,
  isRolling: true,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    cases: s.integer,
    runs: s.say(s.integer, 'Cases, times versions, times repetitions.'),
    waiting: s.say(s.integer, 'Those not done yet.'),
    scores: s.orNull(scores, 'Null: it is in progress, or was given up.'),
    given_up: s.say(s.perhapsText, 'Why it was given up.'),
    created_at: s.moment,
    created_by: s.text,
    finished_at: s.say(s.perhapsMoment, 'Null: it is in progress.'),
  }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: ({ sql, owner }) => listEvaluations(sql, owner.id),
    find: ({ sql, owner }, id) => findEvaluation(sql, { id, deploymentId: owner.id }),
    read: async (_, given) => given,
    create: async ({ sql, owner, actor }, given) => ({
      row: await createEvaluation(sql, owner, { ...given, createdBy: actor.name }),
    }),
    remove: ({ sql }, row) => deleteEvaluation(sql, row),
  },
  actions: {},
  words: {
    about:
      'An evaluation performs the cases of a set with a version, and checks what is put out. It ' +
      'really asks the models, and really calls the tools, of the version: that costs money, ' +
      'and tools may change things.',
    icon: 'check',
    form: 'Set and versions',
    saved: 'The evaluation is started.',
    deleted: 'The evaluation is deleted. Its cases stay.',
    deletes: 'What is in progress is given up. The cases stay.',
  },
  name: nameOf,
  state: stateOf,
  columns: [
    { title: 'Evaluation', cell: (row) => html`<span class="break">${nameOf(row)}</span>` },
    { title: 'Passed', cell: ({ scores }) => (scores ? percent(scores.version.share) : '–') },
    {
      title: 'Beside it',
      className: 'wide',
      cell: ({ scores }) => (scores?.against ? percent(scores.against.share) : '–'),
    },
    { title: 'Started', className: 'quiet row-wide', cell: ({ createdAt }) => ago(createdAt) },
  ],
  proposes: async ({ sql, owner }) => ({ version: (await getRunVersion(sql, owner)).number }),
  suggests: async ({ sql, owner }) => ({
    set: (await listCaseSets(sql, owner.id)).map(({ name }) => name),
  }),
  main: evaluationSection,
})

function nameOf({ set, version, against }: Evaluation): string {
  return `${set} by version ${version}${against === null ? '' : ` and ${against}`}`
}

function stateOf({ runs, waiting, finishedAt, scores, givenUp }: Evaluation): State {
  if (finishedAt === null) return ['busy', `${Math.max(0, runs - waiting)} of ${runs} done`]
  if (!scores) return ['waiting', 'given up', givenUp ?? undefined]
  const { passed, cases } = scores.version
  return [passed === cases ? 'good' : 'bad', `${passed} of ${cases} passed`]
}
