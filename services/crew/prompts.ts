import { fillIn } from '../platform/definitions/crew-definition.ts'
import type { Agent, Task } from '../platform/definitions/crew-definition.ts'
import { agentText, taskText } from '../platform/definitions/prompt-texts.ts'
import type { ChatMessage } from '../shared/models/llm-call.ts'
import type { Material } from './material/material.ts'
import { askForJson } from './task/json-answer.ts'

type Inputs = Readonly<Record<string, unknown>>

/** The output of an earlier task of the same run. */
export interface TaskOutput {
  readonly task: string
  readonly role: string
  /** Empty for one that was skipped. */
  readonly output: string
  /** Why it was skipped. */
  readonly skipped?: string | undefined
}

/** Returns true for the output of a task that was not skipped. */
export const isDone = ({ skipped }: TaskOutput): boolean => skipped === undefined

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
  readonly material: Assignment['material']
}

interface Assignment {
  readonly agent: Agent
  readonly task: Task
  readonly inputs: Inputs
  readonly context: readonly TaskOutput[]
  readonly material: Pick<Material, 'shown' | 'imagesFor' | 'knowledgeFor'>
}

/**
 * The conversation that asks an agent to do a task. Outputs of earlier tasks go in as they are:
 * they are no templates.
 */
export function promptFor(assignment: Assignment): ChatMessage[] {
  const { task, inputs, context, material } = assignment
  const fillTask = (template: string): string => fillIn(template, { ...inputs, ...material.shown })
  const user = [
    taskText({
      description: fillTask(task.description),
      expected_output: fillTask(task.expected_output),
    }),
    ...(context.length === 0 ? [] : [`Context from earlier tasks:\n\n${showContext(context)}`]),
    ...(task.markdown === true ? [MARKDOWN] : []),
    task.output_schema
      ? askForJson(task.output_schema)
      : 'Answer with the output of the task only.',
  ]
  return converse(assignment, withImages(user.join('\n\n'), assignment))
}

/**
 * The conversation in which an agent does a part of another one's task. The words of that one are
 * no templates.
 */
export function promptForCoworker(delegated: Delegated): ChatMessage[] {
  const { assignment, context } = delegated
  const user = [
    taskText({
      description: assignment,
      expected_output: 'your best answer to the coworker who asks you for this.',
    }),
    ...(context === '' ? [] : [`Context:\n\n${context}`]),
    'Answer with the output of the task only.',
  ]
  return converse(delegated, user.join('\n\n'))
}

function converse(
  { agent, inputs, material }: Pick<Assignment, 'agent' | 'inputs' | 'material'>,
  content: ChatMessage['content'],
): ChatMessage[] {
  const fill = (template: string): string => fillIn(template, inputs)
  const knowledge = material.knowledgeFor(agent)
  const system = [
    agentText({
      role: fill(agent.role),
      backstory: agent.backstory === undefined ? undefined : fill(agent.backstory),
      goal: fill(agent.goal),
    }),
    ...(knowledge === undefined ? [] : [`\n${knowledge}`]),
  ]
  return [
    { role: 'system', content: system.join('\n') },
    { role: 'user', content },
  ]
}

function withImages(text: string, { task, material }: Assignment): ChatMessage['content'] {
  const images = material.imagesFor([task.description, task.expected_output])
  return images.length === 0 ? text : [{ type: 'text', text }, ...images]
}

function showContext(context: readonly TaskOutput[]): string {
  return context.map(({ task, role, output }) => `## ${task} (${role})\n${output}`).join('\n\n')
}
