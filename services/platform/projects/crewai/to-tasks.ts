import { didYouMean } from '../../../shared/closest.ts'
import { isObject } from '../../../shared/is-object.ts'
import { checkKeys, isOff, isPython, readFlag, readList, readNumber, readText } from './fields.ts'
import type { Field, Part } from './fields.ts'
import { checkPlaceholders } from './placeholders.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'
import { TASK_RULES } from './rules.ts'
import { checkType, textOf } from './to-agents.ts'
import { reportTools } from './tools.ts'

interface TaskContext {
  /** The keys of agents by their names in the project. */
  readonly agents: ReadonlyMap<string, string>
  /** The keys of tasks by their names in the project. */
  readonly tasks: ReadonlyMap<string, string>
  /** A manager gives out the tasks: they need not name an agent. */
  readonly isManaged: boolean
  readonly report: Report
}

const RETRIES_MAX = 10
const CONDITIONAL = [
  'ConditionalTask',
  'crewai.tasks.ConditionalTask',
  'crewai.tasks.conditional_task.ConditionalTask',
]
const TYPES = ['task', 'Task', 'crewai.Task', 'crewai.task.Task', ...CONDITIONAL]

/** Maps a task; what it has no equivalent for is reported. */
export function toTask(part: Part, context: TaskContext): Readonly<Record<string, unknown>> {
  const { report, tasks } = context
  checkKeys(part.fields, TASK_RULES, report)
  checkType(part, TYPES, report)
  reportTools(part.fields.get('tools'), report)
  const extras = {
    ...contextOf(part, context),
    ...flagOf(part, 'async_execution', { as: 'async', report }),
    ...schemaOf(part, report),
    ...guardrailOf(part, report),
    ...flagOf(part, 'human_input', { as: 'human_input', report }),
    ...fileOf(part, report),
    ...flagOf(part, 'markdown', { as: 'markdown', report }),
  }
  return {
    key: tasks.get(part.name) ?? part.name,
    description: textOf(part, 'description', report),
    expected_output: textOf(part, 'expected_output', report),
    ...agentOf(part, context),
    ...extras,
  }
}

function agentOf(part: Part, { agents, isManaged, report }: TaskContext): { agent?: string } {
  const field = part.fields.get('agent')
  if (field && isPython(field.value)) {
    report.refuse(field, PYTHON)
    return {}
  }
  const name = readText(field, report)
  if (name === undefined) {
    if (!isManaged) report.refuse(field ?? part, `The task ${part.name} names no agent.`)
    return {}
  }
  const agent = agents.get(name)
  if (agent !== undefined) return { agent }
  const names = [...agents.keys()]
  const near = didYouMean(name, names)
  report.refuse(field ?? part, `There is no agent ${name}.${near} There are: ${names.join(', ')}.`)
  return {}
}

/** `null` and `[]` are no context; without the key it is all tasks before. */
function contextOf(part: Part, { tasks, report }: TaskContext): { context?: string[] } {
  const field = part.fields.get('context')
  if (!field) return {}
  if (field.value === null) return { context: [] }
  const entries = readList(field, report)
  if (!entries) return {}
  const keys = entries.flatMap((each) => {
    if (typeof each.value !== 'string') {
      report.refuse(each, isPython(each.value) ? PYTHON : 'A context is a list of names of tasks.')
      return []
    }
    const key = tasks.get(each.value)
    if (key === undefined) {
      const near = didYouMean(each.value, [...tasks.keys()])
      report.refuse(each, `There is no task ${each.value}.${near}`)
    }
    return key ?? []
  })
  return { context: [...new Set(keys)] }
}

function flagOf(
  { fields }: Part,
  name: string,
  { as, report }: { as: string; report: Report },
): Record<string, true> {
  const field = fields.get(name)
  if (readFlag(field, report) !== true) return {}
  if (field && as === 'human_input') {
    report.note(
      field,
      'The run waits until a person approves, edits or rejects the output; there is no ' +
        'conversation about it.',
    )
  }
  return { [as]: true }
}

function fileOf({ fields }: Part, report: Report): { output_file?: string } {
  const field = fields.get('output_file')
  const path = readText(field, report)
  if (!field || path === undefined) return {}
  checkPlaceholders(path, field, report)
  if (/[/\\]/.test(path)) report.note(field, 'The file is kept with the run, in no folder.')
  return { output_file: path }
}

/** CrewAI also takes a JSON Schema where it wants a model of Pydantic. */
function schemaOf({ fields }: Part, report: Report): { output_schema?: object } {
  const given = ['output_pydantic', 'output_json', 'response_model']
    .map((name) => fields.get(name))
    .filter((field) => field !== undefined && !isOff(field.value))
  const [first] = given
  for (const field of given) {
    if (!field || (field === first && isSchema(field.value))) continue
    report.leaveOut(
      field,
      isSchema(field.value)
        ? 'A task has one schema; this one is not taken.'
        : `${PYTHON} Or write the model as a JSON Schema, and give it as output_schema.`,
    )
  }
  return first && isSchema(first.value) ? { output_schema: first.value } : {}
}

const isSchema = (value: unknown): value is object => isObject(value) && !isPython(value)

function guardrailOf({ fields }: Part, report: Report): Record<string, unknown> {
  const many = fields.get('guardrails')
  const listed = many && Array.isArray(many.value) ? (readList(many, report) ?? []) : [many]
  const all = isOff(many?.value) ? [fields.get('guardrail')] : listed
  const checks = all.flatMap((field) => (field ? checksOf(field, report) : []))
  const [first] = checks
  if (first === undefined) return {}
  const retries = retriesOf(
    fields.get('guardrail_max_retries') ?? fields.get('max_retries'),
    report,
  )
  return {
    ...(checks.length === 1 ? { guardrail: first } : { guardrails: checks }),
    ...(retries === undefined ? {} : { guardrail_max_retries: retries }),
  }
}

function retriesOf(field: Field | undefined, report: Report): number | undefined {
  const retries = readNumber(field, report)
  if (!field || retries === undefined || retries <= RETRIES_MAX) return retries
  report.note(field, `An output goes back to its agent at most ${RETRIES_MAX} times.`)
  return RETRIES_MAX
}

/** A text is a rule that the model of the agent checks. */
function checksOf(field: Field, report: Report): object[] {
  if (isOff(field.value)) return []
  if (typeof field.value === 'string') {
    return [{ type: 'llm', instruction: field.value.trimEnd() }]
  }
  report.leaveOut(field, PYTHON)
  return []
}
