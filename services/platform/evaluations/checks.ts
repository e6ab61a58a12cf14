import * as v from 'valibot'
import { callBounded, isOverdue } from '../../shared/bounded-call.ts'
import { closedObject } from '../../shared/describe-issue.ts'
import { toError } from '../../shared/errors.ts'
import { problemsUnder } from '../../shared/json-schema.ts'
import { oneOf, someText, whole } from '../../shared/schemas.ts'
import { conditionHolds, expression } from '../definitions/guardrails.ts'
import { outputSchema } from '../definitions/output-schema.ts'

/** The most checks of a set. */
export const CHECKS_MAX = 20
/** A pattern that backtracks for longer is an error of its check. */
const PATTERN_MS = 250
/** How often a judge may be asked: odd, so that most answers say one thing. */
export const JUDGED_TIMES = [1, 3, 5, 7, 9] as const
/** How often the judges of a case are asked at the most, all together. */
const JUDGED_MAX = 15

const amount = v.pipe(
  v.number('must be a number'),
  v.check((each) => each > 0 && each <= 1e9, 'must be above 0'),
)

const pattern = v.pipe(
  someText(2000),
  v.check((given) => {
    try {
      return new RegExp(given, 'u') instanceof RegExp
    } catch {
      return false
    }
  }, 'must be a regular expression'),
)

const check = v.variant(
  'type',
  [
    /** The output is the expected one, but for spaces around it. */
    closedObject({ type: v.literal('equal') }),
    /** The output has a text. */
    closedObject({
      type: v.literal('contains'),
      /** @default the expected output */
      text: v.optional(someText(20_000)),
    }),
    /** A regular expression finds something in the output. */
    closedObject({ type: v.literal('pattern'), pattern }),
    /** The output is JSON that is valid under a schema. */
    closedObject({ type: v.literal('schema'), schema: outputSchema }),
    /** A condition holds, in the language of JSONPath filters, as in a guardrail. */
    closedObject({ type: v.literal('expression'), expression }),
    closedObject({ type: v.literal('tool_called'), tool: someText(200) }),
    closedObject({ type: v.literal('tool_not_called'), tool: someText(200) }),
    /** It takes no more than this. */
    v.pipe(
      closedObject({
        type: v.literal('at_most'),
        usd: v.optional(amount),
        tokens: v.optional(whole(1, 1e9)),
        seconds: v.optional(amount),
      }),
      v.check(
        ({ usd, tokens, seconds }) => [usd, tokens, seconds].some((each) => each !== undefined),
        'must have usd, tokens or seconds',
      ),
    ),
    /** A person finds it good, in the review queue. */
    closedObject({ type: v.literal('person') }),
    /** A model finds that the output complies with a rubric, most of the times it is asked. */
    closedObject({
      type: v.literal('judge'),
      model: someText(200),
      rubric: someText(10_000),
      times: v.optional(oneOf(JUDGED_TIMES), 1),
    }),
  ],
  ({ path }) =>
    path?.at(-1)?.key === 'type' ? `must be one of ${TYPES.join(', ')}` : 'must be an object',
)
/** A check of what a version makes of a case. */
export type Check = v.InferOutput<typeof check>
/** A check that a model makes. */
export type Judge = Extract<Check, { type: 'judge' }>

const TYPES: readonly string[] = [
  'equal',
  'contains',
  'pattern',
  'schema',
  'expression',
  'tool_called',
  'tool_not_called',
  'at_most',
  'person',
  'judge',
] satisfies readonly Check['type'][]

/** The checks of a set. Without one, a case passes when its run completes. */
export const checks = v.pipe(
  v.array(check, 'must be a list of checks'),
  v.maxLength(CHECKS_MAX, `must have at most ${CHECKS_MAX} checks`),
  v.check(
    (list) => judgedTimes(list) <= JUDGED_MAX,
    `must ask judges at most ${JUDGED_MAX} times together`,
  ),
)

/** Returns why one of these checks cannot be made of `what`, of which no output is expected. */
export function checkWithoutExpected(list: readonly Check[], what: string): string | undefined {
  const found = list.find(
    (each) => /^(equal|person)$/.test(each.type) || (each.type === 'contains' && !each.text),
  )
  if (found?.type === 'person') {
    return 'The check "person" is for sets of cases: people rate runs by reviewed_share.'
  }
  return found && `The check "${found.type}" needs an expected output, which ${what} do not have.`
}

/** How often judges are asked about a case, all together. */
export const judgedTimes = (list: readonly Check[]): number =>
  list.reduce((sum, each) => sum + (each.type === 'judge' ? (each.times ?? 1) : 0), 0)

/** What a version made of a case. */
export interface Performed {
  readonly output: string
  /** The tools that it called, by their keys in the version, in their order. */
  readonly tools: readonly string[]
  readonly tokens: number
  /** null: a model has no price. */
  readonly usd: number | null
  readonly seconds: number
}

/** What a check found. `skipped`: it needs an expected output, and the case has none. */
export interface Finding {
  readonly type: Check['type']
  readonly state: 'passed' | 'failed' | 'error' | 'skipped'
  readonly reason?: string
  /** The version of the prompt that a judge was asked with. */
  readonly prompt?: number
  /** What asking the judge took; null: it has no price. */
  readonly tokens?: number
  readonly usd?: number | null
}

/** Makes a check that needs no model. Never raises. */
export function makeCheck(
  given: Exclude<Check, Judge>,
  expected: string | null,
  performed: Performed,
): Finding {
  if (given.type === 'person') {
    return { type: 'person', state: 'error', reason: 'A person has to rate the output.' }
  }
  try {
    return { type: given.type, ...find(given, expected, performed) }
  } catch (thrown) {
    const reason = isOverdue(thrown)
      ? 'It took too long.'
      : `It cannot be made: ${toError(thrown).message}`
    return { type: given.type, state: 'error', reason }
  }
}

type Found = Omit<Finding, 'type'>

const PASSED: Found = { state: 'passed' }
const SKIPPED: Found = { state: 'skipped', reason: 'The case has no expected output.' }
const when = (holds: boolean, reason: string): Found =>
  holds ? PASSED : { state: 'failed', reason }

function find(
  given: Exclude<Check, Judge | { type: 'person' }>,
  expected: string | null,
  made: Performed,
): Found {
  const { output, tools } = made
  switch (given.type) {
    case 'equal':
      if (expected === null) return SKIPPED
      return when(output.trim() === expected.trim(), 'The output is not the expected one.')
    case 'contains': {
      const wanted = given.text ?? expected
      if (wanted === null) return SKIPPED
      return when(output.includes(wanted), 'The output does not have the text.')
    }
    case 'pattern': {
      const matches = () => new RegExp(given.pattern, 'u').test(output)
      return when(callBounded(PATTERN_MS, matches), 'The pattern finds nothing in the output.')
    }
    case 'schema':
      return findUnder(given.schema, output)
    case 'expression':
      return when(conditionHolds(given.expression, output), 'The condition does not hold.')
    case 'tool_called':
      return when(tools.includes(given.tool), `The tool ${given.tool} was not called.`)
    case 'tool_not_called':
      return when(!tools.includes(given.tool), `The tool ${given.tool} was called.`)
    case 'at_most':
      return findSpent(given, made)
  }
}

function findUnder(schema: Parameters<typeof problemsUnder>[0], output: string): Found {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    return { state: 'failed', reason: 'The output is not JSON.' }
  }
  const problems = problemsUnder(schema, value)
  return when(problems.length === 0, problems.join(' '))
}

function findSpent(
  { usd, tokens, seconds }: Extract<Check, { type: 'at_most' }>,
  made: Performed,
): Found {
  if (usd !== undefined && made.usd === null) {
    return { state: 'error', reason: 'A model has no price, so that its cost is not known.' }
  }
  const over = [
    [usd, made.usd ?? 0, 'dollars'],
    [tokens, made.tokens, 'tokens'],
    [seconds, made.seconds, 'seconds'],
  ] as const
  const reasons = over
    .filter(([most, spent]) => most !== undefined && spent > most)
    .map(([most, spent, unit]) => `It took ${spent} ${unit}, and ${most} is the most.`)
  return when(reasons.length === 0, reasons.join(' '))
}

/** The state of a case by what its checks found: one that nothing could judge has not passed. */
export function stateOf(findings: readonly Finding[]): {
  readonly state: 'passed' | 'failed' | 'error'
  readonly reason?: string
} {
  const found = (state: Finding['state']) => findings.find((each) => each.state === state)
  const wrong = found('failed') ?? found('error')
  if (wrong) {
    const state = wrong.state === 'failed' ? 'failed' : 'error'
    return { state, reason: `${wrong.type}: ${wrong.reason ?? ''}` }
  }
  if (findings.length === 0 || found('passed')) return { state: 'passed' }
  return { state: 'error', reason: 'No check applies: the case has no expected output.' }
}
