import { isDeepStrictEqual } from 'node:util'
import type { LlmCall } from '../../shared/models/llm-call.ts'
import { messageText } from '../../shared/models/llm-call.ts'
import { fillIn, PLACE } from '../definitions/crew-definition.ts'
import type { Agent, CrewDefinition, Task } from '../definitions/crew-definition.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { agentText, readAgentText, readTaskText, taskText } from '../definitions/prompt-texts.ts'

/** A recorded call, what it became, and the place that it was made at. */
export interface ChangedCall {
  readonly recorded: LlmCall
  readonly changed: LlmCall
  /** The keys of the task and of the agent. */
  readonly place: { readonly task: string; readonly agent: string } | undefined
  readonly inputs: Inputs
}

/** The definition with what was changed, or why the change cannot be written into it. */
export type Written = { readonly definition: CrewDefinition } | { readonly problem: string }

/**
 * Writes a changed call into the definition that it was made by: the model and its parameters, and
 * with `withTexts` the texts of the agent and the task. What agents, tools and tasks said in the
 * course of the run is in no definition.
 */
export function changeDefinition(
  definition: CrewDefinition,
  call: ChangedCall,
  { withTexts }: { readonly withTexts: boolean },
): Written {
  const agent = definition.agents.find(({ key }) => key === call.place?.agent)
  if (!agent || (agent.llm ?? definition.llm).model !== call.recorded.model) {
    return { problem: 'The call was not made by the model of an agent of the definition.' }
  }
  const written = withTexts ? changeTexts(definition, { ...call, agent }) : definition
  if ('problem' in written) return written
  const changed = changeModel(written, call)
  if (!isDeepStrictEqual(changed, definition)) return { definition: changed }
  return { problem: 'Nothing is changed that a definition says.' }
}

const PARAMETERS = ['temperature', 'max_tokens', 'reasoning_effort'] as const

function changeModel(definition: CrewDefinition, call: ChangedCall): CrewDefinition {
  const { recorded, changed, place } = call
  const fields = (['model', ...PARAMETERS] as const).filter(
    (field) => changed[field] !== recorded[field],
  )
  if (fields.length === 0) return definition
  const agents = definition.agents.map((agent) => {
    if (agent.key !== place?.agent) return agent
    const own = Object.fromEntries(fields.map((field) => [field, changed[field]]))
    const llm = { ...(agent.llm ?? definition.llm), ...own }
    return { ...agent, llm: withoutUndefined(llm) }
  })
  return { ...definition, agents }
}

/** A definition is JSON: what is taken away is not there. */
const withoutUndefined = <Value extends object>(value: Value): Value =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- such fields may lack
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value

function changeTexts(
  definition: CrewDefinition,
  call: ChangedCall & { readonly agent: Agent },
): CrewDefinition | { readonly problem: string } {
  const { recorded, changed, agent, inputs, place } = call
  if (!isDeepStrictEqual(recorded.tools ?? [], changed.tools ?? [])) {
    return { problem: 'Which tools are offered is a matter of the agent: change it in the editor.' }
  }
  const [texts, others] = [textsOf(recorded), textsOf(changed)]
  if (!isDeepStrictEqual(texts.slice(2), others.slice(2))) return { problem: OF_THE_RUN }
  const task = definition.tasks.find(({ key }) => key === place?.task)
  const [first, second] = [0, 1].map((at): Change => [texts[at] ?? '', others[at] ?? ''])
  const newAgent = isChange(first) ? changeAgent(agent, inputs, first) : agent
  if (!newAgent) return unmapped('first', 'the role, the backstory and the goal of the agent')
  const newTask = isChange(second) ? task && changeTask(task, inputs, second) : task
  if (!newTask) return unmapped('second', 'the description and the expected output of the task')
  return {
    ...definition,
    agents: definition.agents.map((each) => (each === agent ? newAgent : each)),
    tasks: definition.tasks.map((each) => (each === task ? newTask : each)),
  }
}

const OF_THE_RUN =
  'Only the first two messages are made of the definition; the others are of the run itself.'

const isChange = (change: Change | undefined): change is Change =>
  change !== undefined && change[0] !== change[1]

const textsOf = ({ messages }: LlmCall): string[] =>
  messages.map((each) => messageText(each.content))

const unmapped = (which: string, what: string) => ({
  problem:
    `The ${which} message cannot be told apart into ${what}, with the inputs of the run in their ` +
    'places. What the run added to them has to stay as it is.',
})

type Change = readonly [was: string, now: string]

function changeAgent(agent: Agent, inputs: Inputs, change: Change): Agent | undefined {
  const { role, backstory, goal } = agent
  const fill = (template: string): string => fillIn(template, inputs)
  const filled = {
    role: fill(role),
    backstory: backstory === undefined ? undefined : fill(backstory),
    goal: fill(goal),
  }
  const now = readHead(change, agentText(filled), readAgentText)
  if (!now) return undefined
  const own = unfill(role, inputs, now.role)
  const aim = unfill(goal, inputs, now.goal)
  const story = now.backstory && unfill(backstory ?? '', inputs, now.backstory)
  if (!own || !aim || (now.backstory && !story)) return undefined
  return withoutUndefined({ ...agent, role: own, goal: aim, backstory: story || undefined })
}

function changeTask(task: Task, inputs: Inputs, change: Change): Task | undefined {
  const { description, expected_output } = task
  const filled = {
    description: fillIn(description, inputs),
    expected_output: fillIn(expected_output, inputs),
  }
  const now = readHead(change, taskText(filled), readTaskText)
  const what = now && unfill(description, inputs, now.description)
  const result = now && unfill(expected_output, inputs, now.expected_output)
  return what && result ? { ...task, description: what, expected_output: result } : undefined
}

/** Reads the head of a message that a definition wrote, where all behind it stayed as it was. */
function readHead<Texts>(
  [was, now]: Change,
  head: string,
  read: (text: string) => Texts | undefined,
): Texts | undefined {
  const rest = was.slice(head.length)
  if (!was.startsWith(head) || !now.endsWith(rest)) return undefined
  return read(now.slice(0, now.length - rest.length))
}

/**
 * Returns the template of a text that was filled in and then changed; undefined where the place of
 * an input is not certain. Filled in with the same inputs, the template is that text again.
 */
export function unfill(template: string, inputs: Inputs, now: string): string | undefined {
  const was = fillIn(template, inputs)
  const start = sharedLength(was, now)
  const end = sharedEnd(was.slice(start), now.slice(start))
  const found: { readonly place: string; readonly at: number; readonly length: number }[] = []
  let written = 0
  let templateAt = 0
  for (const { 0: place, 1: key = '', index } of template.matchAll(PLACE)) {
    written += index - templateAt
    templateAt = index + place.length
    const value = fillIn(place, inputs)
    const from = written
    written += value.length
    if (!Object.hasOwn(inputs, key)) continue
    const last = found.at(-1)
    const after = last ? last.at + last.length : 0
    const at =
      written <= start
        ? from
        : from >= was.length - end
          ? from + now.length - was.length
          : onlyPlace(now, value, after)
    if (at === undefined || at < after) return undefined
    found.push({ place, at, length: value.length })
  }
  let result = ''
  let at = 0
  for (const each of found) {
    result += now.slice(at, each.at) + each.place
    at = each.at + each.length
  }
  result += now.slice(at)
  const known = new Set(placesIn(template))
  const isSame = fillIn(result, inputs) === now && placesIn(result).every((each) => known.has(each))
  return isSame ? result : undefined
}

const placesIn = (template: string): string[] => [...template.matchAll(PLACE)].map(([all]) => all)

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1
  return length
}

function sharedEnd(a: string, b: string): number {
  let length = 0
  while (length < Math.min(a.length, b.length) && a.at(-1 - length) === b.at(-1 - length)) {
    length += 1
  }
  return length
}

/** Finds a text that is there once behind a place. */
function onlyPlace(text: string, wanted: string, after: number): number | undefined {
  const at = wanted === '' ? -1 : text.indexOf(wanted, after)
  return at < 0 || text.includes(wanted, at + 1) ? undefined : at
}
