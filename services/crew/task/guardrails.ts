import * as v from 'valibot'
import { conditionHolds } from '../../platform/definitions/guardrails.ts'
import type { Guardrail } from '../../platform/definitions/guardrails.ts'
import type { JsonSchema } from '../../shared/json-schema.ts'
import type { AgentTalk } from '../run-agent.ts'
import { stepFailure } from '../steps.ts'
import { evaluate } from './decide.ts'
import { askForJson, askJson, readJsonAnswer } from './json-answer.ts'

/** Opens a conversation with the model of a guardrail. */
export type OpenReview = (review: {
  readonly prompt: string
  readonly schema: JsonSchema
  readonly model: string | undefined
  /** Where its steps are within the task. */
  readonly path: readonly string[]
}) => AgentTalk

interface GuardedTask {
  readonly task: string
  readonly guardrails: readonly Guardrail[]
  /** How often the output goes back, for each of them. */
  readonly retriesMax: number
  /** Returns the output; what is said goes before it. */
  readonly produce: (said?: string) => Promise<string>
  readonly openReview: OpenReview
}

const REVIEW_SCHEMA = {
  type: 'object',
  properties: {
    valid: { type: 'boolean', description: 'Whether the output complies' },
    feedback: { type: ['string', 'null'], description: 'What is wrong if it does not' },
  },
  required: ['valid', 'feedback'],
  additionalProperties: false,
}
const review = v.object({ valid: v.boolean(), feedback: v.nullish(v.string()) })

/**
 * Lets a task produce its output until it passes all guardrails, and returns it. What fails goes
 * back to the agent with the reason; raises `guardrail_failed` when that was of no use.
 */
export async function passGuardrails(guarded: GuardedTask): Promise<string> {
  const { task, guardrails, retriesMax, produce } = guarded
  const retries = guardrails.map(() => 0)
  let output = await produce()
  for (let round = 0; ; round += 1) {
    const failed = await findFailure(guarded, output, round)
    if (!failed) return output
    const { index, feedback } = failed
    const made = retries[index] ?? 0
    if (made >= retriesMax) throw guardrailFailed(task, { index, made, feedback })
    retries[index] = made + 1
    output = await produce(
      `Your answer did not pass a check: ${feedback}\nAnswer again, with this corrected.`,
    )
  }
}

/** Each round is of another output: all guardrails look at it. */
async function findFailure(guarded: GuardedTask, output: string, round: number) {
  for (const [index, guardrail] of guarded.guardrails.entries()) {
    const path = [`guardrail:${index}`, String(round)]
    const feedback = await check(guarded, guardrail, { output, path })
    if (feedback !== undefined) return { index, feedback }
  }
  return undefined
}

interface Checked {
  readonly output: string
  readonly path: readonly string[]
}

/** Returns what is wrong with an output; undefined when it passes. */
async function check(
  guarded: GuardedTask,
  guardrail: Guardrail,
  checked: Checked,
): Promise<string | undefined> {
  const { output } = checked
  if (guardrail.type === 'llm') return askReviewer(guarded, guardrail, checked)
  if (guardrail.type === 'schema') {
    const read = readJsonAnswer(output, guardrail.schema)
    return read.ok ? undefined : read.problem
  }
  const { expression, message = `It does not satisfy ${expression}` } = guardrail
  const subject = `The guardrail ${expression} of the task ${guarded.task}`
  const isMet = evaluate('guardrail_unusable', subject, () => conditionHolds(expression, output))
  return isMet ? undefined : message
}

async function askReviewer(
  { task, openReview }: GuardedTask,
  { instruction, model }: Extract<Guardrail, { type: 'llm' }>,
  { output, path }: Checked,
): Promise<string | undefined> {
  const prompt = [
    'Check whether the output of a task complies with a guardrail.',
    `Output:\n${output}`,
    `Guardrail:\n${instruction}`,
    'If it does not comply, say in the feedback what is wrong, and by how much or in which part. ' +
      'Name problems only; propose no corrections.',
    askForJson(REVIEW_SCHEMA),
  ].join('\n\n')
  const answer = await askJson(
    openReview({ prompt, schema: REVIEW_SCHEMA, model, path }),
    REVIEW_SCHEMA,
  )
  if (!answer.ok) {
    const message =
      `The model that reviews the output of the task ${task} did not say whether it complies. ` +
      `${answer.problem} Use another model for the guardrail.`
    throw stepFailure({ code: 'guardrail_unusable', message })
  }
  const { valid, feedback } = v.parse(review, answer.value)
  return valid ? undefined : (feedback ?? `It does not comply with: ${instruction}`)
}

function guardrailFailed(
  task: string,
  { index, made, feedback }: { index: number; made: number; feedback: string },
) {
  const which = `guardrail ${index + 1} of the task ${task}`
  return stepFailure({
    code: 'guardrail_failed',
    message: `The output did not pass ${which} after ${made} retries. At last: ${feedback}`,
  })
}
