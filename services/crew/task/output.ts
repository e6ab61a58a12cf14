import type { Task } from '../../platform/definitions/crew-definition.ts'
import { guardrailsOf } from '../../platform/definitions/crew-definition.ts'
import { promptFor } from '../prompts.ts'
import type { TaskOutput } from '../prompts.ts'
import { openTalk } from '../run-agent.ts'
import { stepFailure } from '../steps.ts'
import { createDelegationTools } from './delegation.ts'
import { passGuardrails } from './guardrails.ts'
import type { OpenReview } from './guardrails.ts'
import { askJson } from './json-answer.ts'
import type { TaskDeps } from './task-deps.ts'
import type { Team } from './team.ts'
import { isObject } from '../../shared/is-object.ts'
import type { JsonSchema } from '../../shared/json-schema.ts'
import type { ResponseFormat } from '../../shared/models/llm-call.ts'

/** What providers take when they guarantee an answer under a schema. */
const STRICT = new Set(
  (
    '$defs $ref additionalProperties anyOf const description enum items properties required ' +
    'title type'
  ).split(' '),
)

/** Describes the form of an answer for a provider: strictly, where the schema can be kept so. */
export const formatOf = (schema: JsonSchema): ResponseFormat => ({
  type: 'json_schema',
  json_schema: {
    name: 'output',
    schema,
    strict: schema['type'] === 'object' && isStrict(schema),
  },
})

const RETRIES_MAX = 3

/** A task that an agent does, perhaps for an item, or again. */
export interface AssignedTask extends Team {
  readonly task: Task
  /** The path of its step, and what people see of that. */
  readonly path: readonly string[]
  readonly name: string
  readonly context: readonly TaskOutput[]
}

/**
 * Lets an agent produce the output of a task: of the form that it has to have, and past all
 * guardrails. Raises the failure of that.
 */
export async function produceOutput(deps: TaskDeps, assigned: AssignedTask): Promise<string> {
  const { definition, inputs, llmFor, steps, toolbox } = deps
  const { task, agent, coworkers, path } = assigned
  const { output_schema: schema } = task
  const talk = openTalk({
    place: { task: task.key, agent: agent.key },
    path: [...path, agent.key],
    call: agent.llm ?? definition.llm,
    messages: promptFor({ ...assigned, inputs, material: deps.material }),
    llmFor,
    steps,
    toolbox,
    tools: [...toolbox.toolsFor(agent), ...createDelegationTools(deps, task.key, coworkers)],
    maxIterations: agent.max_iterations,
    format: schema && formatOf(schema),
  })
  async function produce(said?: string): Promise<string> {
    if (!schema) return talk.ask(said)
    const answer = await askJson(talk, schema, said)
    if (answer.ok) return JSON.stringify(answer.value)
    throw stepFailure({
      code: 'invalid_output',
      message:
        `The output of the task ${task.key} is not what its output_schema asks for, also after ` +
        `the model was told. ${answer.problem} Use another model, or a simpler schema.`,
    })
  }
  return passGuardrails({
    task: task.key,
    guardrails: guardrailsOf(task),
    retriesMax: task.guardrail_max_retries ?? RETRIES_MAX,
    produce,
    openReview: reviewerOf(deps, assigned),
  })
}

function reviewerOf(deps: TaskDeps, { task, agent, path: base }: AssignedTask): OpenReview {
  const { definition, llmFor, steps, toolbox } = deps
  return function openReview({ prompt, schema, model, path }) {
    const own = agent.llm ?? definition.llm
    return openTalk({
      place: { task: task.key, agent: agent.key },
      path: [...base, ...path],
      call: model === undefined ? own : { model },
      messages: [{ role: 'user', content: prompt }],
      llmFor,
      steps,
      toolbox,
      tools: [],
      format: formatOf(schema),
    })
  }
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((keyword) => STRICT.has(keyword)))
    return false
  const { $defs, anyOf, items, properties, required, additionalProperties } = schema
  const names = isObject(properties) ? Object.keys(properties) : []
  const isClosed =
    schema['type'] !== 'object' ||
    (additionalProperties === false &&
      Array.isArray(required) &&
      names.every((name) => required.includes(name)))
  const parts = [properties, $defs].flatMap((map) => (isObject(map) ? Object.values(map) : []))
  return isClosed && [parts, anyOf ?? [], items ?? []].flat().every(isStrict)
}
