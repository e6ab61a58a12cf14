import type { JSONValue } from 'json-p3'
import * as v from 'valibot'
import { callBounded } from '../../shared/bounded-call.ts'
import { closedObject } from '../../shared/describe-issue.ts'
import { toError } from '../../shared/errors.ts'
import { readCondition } from '../../shared/json-path.ts'
import { outputSchema } from './output-schema.ts'

const EXPRESSION_MS = 1000

const text = (max: number) =>
  v.pipe(
    v.string('must be a text'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
  )

const expression = v.pipe(
  text(2000),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? expressionProblem(dataset.value) : undefined
    if (problem !== undefined) addIssue({ message: problem })
  }),
)

const GUARDRAIL_TYPES = ['schema', 'expression', 'llm']

/** A check of a task's output; what fails goes back to the agent with the reason. */
export const guardrail = v.variant(
  'type',
  [
    /** The output is JSON that is valid under a schema. */
    closedObject({ type: v.literal('schema'), schema: outputSchema }),
    /** A condition holds, in the language of JSONPath filters. */
    closedObject({
      type: v.literal('expression'),
      expression,
      /** Tells the agent what is wrong. @default the expression */
      message: v.optional(text(2000)),
    }),
    /** A model finds that the output complies with an instruction. */
    closedObject({
      type: v.literal('llm'),
      instruction: text(20_000),
      /** @default that of the task's agent */
      model: v.optional(text(200)),
    }),
  ],
  ({ path }) =>
    path?.at(-1)?.key === 'type'
      ? `must be one of ${GUARDRAIL_TYPES.join(', ')}`
      : 'must be an object',
)
/** A check of a task's output. */
export type Guardrail = v.InferOutput<typeof guardrail>

function expressionProblem(given: string): string | undefined {
  try {
    readCondition(given)
    return undefined
  } catch (thrown) {
    const example = 'Write a condition such as length(@.output) < 500 && @.json.score >= 0.5'
    return `cannot be read: ${toError(thrown).message}. ${example}`
  }
}

/**
 * Returns true if a condition of a guardrail holds for an output: `@.output`, its text; `@.words`,
 * their number; `@.json`, its value if it is JSON. Raises an error after a second without an end.
 */
export function conditionHolds(given: string, output: string): boolean {
  const facts = { output, words: output.split(/\s+/).filter(Boolean).length, ...jsonOf(output) }
  return callBounded(EXPRESSION_MS, () => readCondition(given).query([facts]).length > 0)
}

function jsonOf(output: string): { json?: JSONValue } {
  try {
    return { json: JSON.parse(output) as JSONValue }
  } catch {
    return {}
  }
}
