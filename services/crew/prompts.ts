import { fillIn } from '../platform/crew-definition.ts'
import type { Agent, Task } from '../platform/crew-definition.ts'
import type { ChatMessage } from './llm.ts'
import { askForJson } from './task/json-answer.ts'

type Inputs = Readonly<Record<string, unknown>>

/** The output of an earlier task of the same run. */
export interface TaskOutput {
  readonly task: string
  readonly role: string
  readonly output: string
}

const MARKDOWN = `Format the output as Markdown:
- # for headings
- ** for bold text, * for italic text
- - for lists
- \`code\` for inline code, \`\`\`language for blocks of code`

/** What an agent gives to another one. */
interface Delegated {
  readonly agent: Agent
  readonly inputs: Inputs
  readonly assignment: string
  readonly context: string
}

interface Assignment {
  readonly agent: Agent
  readonly task: Task
  readonly inputs: Inputs
  readonly context: readonly TaskOutput[]
}

/**
 * The conversation that asks an agent to do a task. Outputs of earlier tasks go in as they are:
 * they are no templates.
 */
export function promptFor({ agent, task, inputs, context }: Assignment): ChatMessage[] {
  const fill = (template: string): string => fillIn(template, inputs)
  const user = [
    `Task: ${fill(task.description)}`,
    `Expected output: ${fill(task.expected_output)}`,
    ...(context.length === 0 ? [] : [`Context from earlier tasks:\n\n${showContext(context)}`]),
    ...(task.markdown === true ? [MARKDOWN] : []),
    task.output_schema
      ? askForJson(task.output_schema)
      : 'Answer with the output of the task only.',
  ]
  return converse({ agent, inputs }, user)
}

/**
 * The conversation in which an agent does a part of another one's task. The words of that one are
 * no templates.
 */
export function promptForCoworker(delegated: Delegated): ChatMessage[] {
  const { assignment, context } = delegated
  return converse(delegated, [
    `Task: ${assignment}`,
    'Expected output: your best answer to the coworker who asks you for this.',
    ...(context === '' ? [] : [`Context:\n\n${context}`]),
    'Answer with the output of the task only.',
  ])
}

function converse(
  { agent, inputs }: Pick<Assignment, 'agent' | 'inputs'>,
  parts: readonly string[],
): ChatMessage[] {
  const fill = (template: string): string => fillIn(template, inputs)
  const system = [
    `You are ${fill(agent.role)}.`,
    ...(agent.backstory === undefined ? [] : [fill(agent.backstory)]),
    `Your goal: ${fill(agent.goal)}`,
  ]
  return [
    { role: 'system', content: system.join('\n') },
    { role: 'user', content: parts.join('\n\n') },
  ]
}

function showContext(context: readonly TaskOutput[]): string {
  return context.map(({ task, role, output }) => `## ${task} (${role})\n${output}`).join('\n\n')
}
