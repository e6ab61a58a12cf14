import * as v from 'valibot'
import { closedObject, describeIssue } from '../../shared/describe-issue.ts'
import { AppError } from '../../shared/errors.ts'
import { REASONING_EFFORTS } from '../../shared/models/llm-call.ts'
import { oneOf, trueOrFalse } from '../../shared/schemas.ts'
import { decisionTerms } from '../approvals/approval-decisions.ts'
import type { WrittenTerms } from '../approvals/approval-decisions.ts'
import { PROCESSES, processProblems } from './crew-process.ts'
import { guardrail } from './guardrails.ts'
import type { Guardrail } from './guardrails.ts'
import { inputDeclarations, nameOf } from './input-declarations.ts'
import { knowledgeNames, knowledgeProblems, knowledgeTexts } from './knowledge-texts.ts'
import { nameProblems } from './offered-tools.ts'
import { outputFile, outputFileProblems } from './output-file.ts'
import { outputSchema } from './output-schema.ts'
import { controlProblems, ITEM, taskControl } from './task-control.ts'
import { contextProblems, taskContext } from './task-order.ts'
import { toolDefinitions, toolKey } from '../tools/tool-definitions.ts'

const text = v.string('must be a text')
const name = toolKey
const prose = v.pipe(
  text,
  v.minLength(1, 'must not be empty'),
  v.maxLength(20_000, 'must have at most 20000 characters'),
)
const few = <Item extends v.GenericSchema>(item: Item) =>
  v.pipe(
    v.array(item, 'must be a list'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(100, 'must have at most 100 entries'),
  )

const model = v.pipe(text, v.minLength(1, 'must not be empty'))

const llm = closedObject({
  model,
  /** Models that are asked instead, in this order, when those before are down or turned off. */
  fallbacks: v.optional(
    v.pipe(
      v.array(model, 'must be a list'),
      v.minLength(1, 'must not be empty'),
      v.maxLength(5, 'must have at most 5 entries'),
    ),
  ),
  temperature: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.minValue(0, 'must be at least 0'),
      v.maxValue(2, 'must be at most 2'),
    ),
  ),
  max_tokens: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be at least 1'),
    ),
  ),
  /** @default the model's own */
  reasoning_effort: v.optional(oneOf(REASONING_EFFORTS)),
})

const agent = closedObject({
  key: name,
  role: prose,
  goal: prose,
  backstory: v.optional(prose),
  /** @default the crew's own `llm` */
  llm: v.optional(llm),
  /** The keys of the tools that it may use. */
  tools: v.optional(
    v.pipe(
      v.array(name, 'must be a list'),
      v.check((list) => new Set(list).size === list.length, 'must not name one twice'),
    ),
  ),
  /** It may give work to the other agents, and ask them. @default false */
  allow_delegation: v.optional(trueOrFalse),
  /** The names of the texts that it knows. */
  knowledge: v.optional(knowledgeNames),
  /** The most calls of its model for one answer. @default 20 */
  max_iterations: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(100, 'must be at most 100'),
    ),
  ),
})

const task = closedObject({
  key: name,
  description: prose,
  expected_output: prose,
  /**
   * The key of the agent that does it; with a manager, that of the only agent it is given to.
   * @default with a manager: any agent
   */
  agent: v.optional(name),
  /**
   * The tasks before it whose outputs it gets.
   * @default all of them, but for one with `async`: none
   */
  context: v.optional(taskContext),
  /** The tasks after it do not wait for it, up to the next one that is not async. @default false */
  async: v.optional(trueOrFalse),
  /** Its output is Markdown. @default false */
  markdown: v.optional(trueOrFalse),
  /** Its output is JSON that is valid under this JSON Schema. */
  output_schema: v.optional(outputSchema),
  /** Checks of its output, in their order. */
  guardrails: v.optional(few(guardrail)),
  guardrail: v.optional(guardrail),
  /** How often the output goes back to the agent, for each of them. @default 3 */
  guardrail_max_retries: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(0, 'must be at least 0'),
      v.maxValue(10, 'must be at most 10'),
    ),
  ),
  /** A person decides about its output before the run goes on. @default false */
  human_input: v.optional(trueOrFalse),
  ...decisionTerms,
  /** The name of the file that its output becomes. */
  output_file: v.optional(outputFile),
  ...taskControl,
})

const crew = closedObject({
  name: prose,
  llm,
  /** Declares inputs in more detail than the placeholders in the texts do. */
  inputs: v.optional(inputDeclarations),
  /** @default sequential */
  process: v.optional(oneOf(PROCESSES)),
  /** The model of a manager that gives out the tasks, for process hierarchical. */
  manager_llm: v.optional(llm),
  /** The key of the agent that is the manager instead. */
  manager_agent: v.optional(name),
  /** The tools that agents may name. */
  tools: v.optional(toolDefinitions),
  /** The texts that agents may name. */
  knowledge: v.optional(knowledgeTexts),
  agents: few(agent),
  tasks: few(task),
})

/**
 * The content of a project version: agents, and tasks, which run one after the other unless they
 * say otherwise. Texts may contain `{input}` placeholders.
 */
export type CrewDefinition = v.InferOutput<typeof crew>
/** An agent of a crew. */
export type Agent = CrewDefinition['agents'][number]
/** A task of a crew. */
export type Task = CrewDefinition['tasks'][number]

/** The schema of a crew definition. */
export const crewDefinition = v.pipe(
  crew,
  v.check(
    ({ agents, tasks }) =>
      [agents, tasks].every((list) => new Set(list.map(({ key }) => key)).size === list.length),
    'agents and tasks need unique keys',
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    const found = dataset.typed ? problemsOf(dataset.value) : []
    for (const message of found) addIssue({ message })
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { tasks, inputs = [] } = dataset.value
    const names = [...inputs.map(nameOf), ...placesOf(dataset.value)]
    for (const { index, field, message } of controlProblems(tasks, names)) {
      const at = (key: string | number) =>
        ({ type: 'unknown', origin: 'value', input: tasks, key, value: undefined }) as const
      addIssue({ message, path: [at('tasks'), at(index), at(field)] })
    }
  }),
)

/** Returns the rules of a definition that its JSON Schema lacks, in words. */
export const crewRules = (): string[] =>
  crewDefinition.pipe.flatMap((item) =>
    'message' in item && typeof item.message === 'string' ? [item.message] : [],
  )

/** Parses a project version. Raises `unprocessable` that names every problem. */
export function parseCrewDefinition(input: unknown): CrewDefinition {
  const result = v.safeParse(crewDefinition, input)
  if (result.success) return result.output
  const problems = result.issues.map((issue) => describeIssue(issue, 'definition'))
  throw new AppError('unprocessable', `The crew definition is not valid: ${problems.join('; ')}`, {
    details: { problems },
  })
}

const problemsOf = (crew: CrewDefinition): string[] => [
  ...toolProblems(crew),
  ...processProblems(crew),
  ...contextProblems(crew.tasks),
  ...outputFileProblems(crew.tasks),
  ...llmsOf(crew).flatMap(({ model: first, fallbacks = [] }) =>
    new Set([first, ...fallbacks]).size <= fallbacks.length
      ? [`the fallbacks of the model ${first} name a model twice; name each once`]
      : [],
  ),
  ...knowledgeProblems(crew.agents, crew.knowledge),
  ...crew.tasks.flatMap(({ key, guardrail: one, guardrails: many }) =>
    one && many ? [`the task ${key} has both guardrail and guardrails; list all of them`] : [],
  ),
  ...crew.tasks.flatMap(({ key, human_input, ...task }) =>
    human_input !== true && hasTerms(task)
      ? [`the task ${key} says when a person has to decide, and lacks human_input`]
      : [],
  ),
  // A server of MCP may ask without approve: there is a time for the answer, and no other decision.
  ...Object.entries(crew.tools ?? {}).flatMap(([key, { approve, undecided, ...tool }]) =>
    approve === undefined && hasTerms(tool.type === 'mcp' ? { undecided } : { ...tool, undecided })
      ? [`the tool ${key} says when a person has to decide, and lacks approve`]
      : [],
  ),
]

const hasTerms = ({ decide_within_minutes, undecided }: WrittenTerms): boolean =>
  decide_within_minutes !== undefined || undecided !== undefined

/** Returns the models that a crew calls, each once. */
export function modelsOf(crew: CrewDefinition): string[] {
  const reviewers = crew.tasks
    .flatMap(guardrailsOf)
    .flatMap((each) => (each.type === 'llm' ? (each.model ?? []) : []))
  const own = llmsOf(crew).flatMap(({ model: first, fallbacks = [] }) => [first, ...fallbacks])
  return [...new Set([...own, ...reviewers])]
}

const llmsOf = ({ llm: common, agents, manager_llm }: CrewDefinition) =>
  [common, ...agents.map((each) => each.llm), manager_llm].flatMap((each) => each ?? [])

/** Returns the guardrails of a task in their order. */
export const guardrailsOf = ({ guardrail: one, guardrails }: Task): readonly Guardrail[] =>
  guardrails ?? (one ? [one] : [])

function toolProblems({ agents, tools = {} }: CrewDefinition): string[] {
  const known = Object.keys(tools)
  const unknown = agents.flatMap((each) =>
    (each.tools ?? [])
      .filter((key) => !known.includes(key))
      .map((key) => `the agent ${each.key} names the tool ${key}, which is not in tools.`),
  )
  return [...unknown, ...nameProblems(tools)]
}

/** A placeholder of an input in a text. */
export const PLACE = /\{([A-Za-z_]\w{0,63})\}/g

/**
 * Returns the names of the placeholders in the texts of a crew, in order of first use, without that
 * of the item of a task that is done for each.
 */
export function placesOf({ agents, tasks }: CrewDefinition): string[] {
  const places = (...texts: readonly string[]): string[] =>
    texts.flatMap((each) => [...each.matchAll(PLACE)].map(([, key = '']) => key))
  const ofAgents = agents.flatMap(({ role, goal, backstory = '' }) => places(role, goal, backstory))
  const ofTasks = tasks.flatMap(({ description, expected_output, output_file = '', for_each }) => [
    ...places(description, expected_output).filter((key) => for_each === undefined || key !== ITEM),
    ...places(output_file),
  ])
  return [...new Set([...ofAgents, ...ofTasks])]
}

/** Fills in the `{input}` placeholders of a text; one without an input stays as it is. */
export function fillIn(template: string, inputs: Readonly<Record<string, unknown>>): string {
  return template.replace(PLACE, (place, key: string) =>
    Object.hasOwn(inputs, key) ? show(inputs[key]) : place,
  )
}

function show(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}
