import type { Agent, Task } from './crew-definition.ts'

/** What the system message of an agent says first, with its inputs filled in. */
type AgentTexts = Pick<Agent, 'role' | 'backstory' | 'goal'>
/** What a message about a task says first, likewise. */
type TaskTexts = Pick<Task, 'description' | 'expected_output'>

/** Writes who an agent is, as its model reads it. */
export const agentText = ({ role, backstory, goal }: AgentTexts): string =>
  [`You are ${role}.`, ...(backstory === undefined ? [] : [backstory]), `Your goal: ${goal}`].join(
    '\n',
  )

/** Writes what is to be done, as a model reads it. */
export const taskText = ({ description, expected_output }: TaskTexts): string =>
  `Task: ${description}\n\nExpected output: ${expected_output}`

/** Reads what `agentText` wrote; undefined for any other text. */
export function readAgentText(text: string): AgentTexts | undefined {
  const [, role, backstory, goal] =
    /^You are ([^]*?)\.\n(?:([^]*?)\n)?Your goal: ([^]*)$/.exec(text) ?? []
  if (role === undefined || goal === undefined) return undefined
  return backstory === undefined ? { role, goal } : { role, backstory, goal }
}

/** Reads what `taskText` wrote; undefined for any other text. */
export function readTaskText(text: string): TaskTexts | undefined {
  const [, description, expected_output] =
    /^Task: ([^]*?)\n\nExpected output: ([^]*)$/.exec(text) ?? []
  if (description === undefined || expected_output === undefined) return undefined
  return { description, expected_output }
}
