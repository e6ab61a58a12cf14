import type { JSONValue } from 'json-p3'
import * as v from 'valibot'
import { callBounded } from '../../shared/bounded-call.ts'
import { closedObject } from '../../shared/describe-issue.ts'
import { condition, EXPRESSION_MS } from '../../shared/conditions.ts'
import { readCondition } from '../../shared/json-path.ts'
import { someText } from '../../shared/schemas.ts'
import { outputSchema } from './output-schema.ts'

/** A condition over an output. */
export const expression = condition('length(@.output) < 500 && @.json.score >= 0.5')

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
      message: v.optional(someText(2000)),
    }),
    /** A model finds that the output complies with an instruction. */
    closedObject({
      type: v.literal('llm'),
      instruction: someText(20_000),
      /** @default that of the task's agent */
      model: v.optional(someText(200)),
    }),
  ],
  ({ path }) =>
    path?.at(-1)?.key === 'type'
      ? `must be one of ${GUARDRAIL_TYPES.join(', ')}`
      : 'must be an object',
)
/** A check of a task's output. */
export type Guardrail = v.InferOutput<typeof guardrail>

/** Returns an output as conditions see it: its text, the number of its words, its value if JSON. */
export const factsOf = (output: string) => ({
  output,
  words: output.split(/\s+/).filter(Boolean).length,
  ...jsonOf(output),
})

/**
 * Returns true if a condition of a guardrail holds for an output: `@.output`, its text; `@.words`,
 * their number; `@.json`, its value if it is JSON. Raises an error after a second without an end.
 */
export const conditionHolds = (given: string, output: string): boolean =>
  callBounded(EXPRESSION_MS, () => readCondition(given).query([factsOf(output)]).length > 0)

function jsonOf(output: string): { json?: JSONValue } {
  try {
    return { json: JSON.parse(output) as JSONValue }
  } catch {
    return {}
  }
}
