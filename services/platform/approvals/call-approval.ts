import * as v from 'valibot'
import type { JSONValue } from 'json-p3'
import { callBounded } from '../../shared/bounded-call.ts'
import { condition, EXPRESSION_MS, namesIn } from '../../shared/conditions.ts'
import { closedObject } from '../../shared/describe-issue.ts'
import { readCondition } from '../../shared/json-path.ts'
import { decisionTerms } from './approval-decisions.ts'

/** When a person is asked, but for a condition. */
export const APPROVE_MODES = ['always', 'once_per_run'] as const

const FACTS: readonly unknown[] = ['arguments', 'inputs']

/** What looks at nothing that is there would never ask. */
const callCondition = v.pipe(
  condition('@.arguments.amount > 100 && @.inputs.country != "de"'),
  v.check(
    looksAtFacts,
    'must look at @.arguments and @.inputs, by their names, and at nothing else',
  ),
)

/** The fields of a tool whose calls a person decides about before they are made. */
export const callApproval = {
  /** When a person is asked. @default never */
  approve: v.optional(
    v.lazy((given) =>
      typeof given === 'object' && given !== null
        ? closedObject({ when: callCondition })
        : v.picklist(
            APPROVE_MODES,
            `must be one of ${APPROVE_MODES.join(', ')}, or an object with when`,
          ),
    ),
  ),
  ...decisionTerms,
}
/** When a person is asked about the calls of a tool. */
export type Approve = NonNullable<v.InferOutput<(typeof callApproval)['approve']>>

/** What conditions of tools look at. */
interface CallFacts {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly inputs: Readonly<Record<string, unknown>>
}

/** Returns whether a person is asked. Raises an error for a condition that does not end. */
export const isAsked = (approve: Approve, facts: CallFacts): boolean =>
  typeof approve === 'string' ||
  callBounded(EXPRESSION_MS, () => {
    const [given, inputs] = [toJson(facts.arguments), toJson(facts.inputs)]
    return readCondition(approve.when).query([{ arguments: given, inputs }]).length > 0
  })

/** They were read from JSON. */
const toJson = (value: object): JSONValue => value as Record<string, JSONValue>

/** What cannot be read has another problem. */
function looksAtFacts(given: string): boolean {
  try {
    return namesIn(readCondition(given)).every(
      ({ root, name, isOfWhole }) => FACTS.includes(root) && name !== undefined && !isOfWhole,
    )
  } catch {
    return true
  }
}
