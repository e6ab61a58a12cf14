import { fillIn } from '../platform/crew-definition.ts'
import type { Agent, Task } from '../platform/crew-definition.ts'
import type { ChatMessage } from './llm.ts'
import type { Material } from './material/material.ts'
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
  const { agent, task, inputs, context, material } = assignment
  const fill = (template: string): string => fillIn(template, inputs)
  const knowledge = material.knowledgeFor(agent)
  const fillTask = (template: string): string => fillIn(template, { ...inputs, ...material.shown })
  const system = [
    `You are ${fill(agent.role)}.`,
    ...(agent.backstory === undefined ? [] : [fill(agent.backstory)]),
    `Your goal: ${fill(agent.goal)}`,
    ...(knowledge === undefined ? [] : [`\n${knowledge}`]),
  ]
  const user = [
    `Task: ${fillTask(task.description)}`,
    `Expected output: ${fillTask(task.expected_output)}`,
    ...(context.length === 0 ? [] : [`Context from earlier tasks:\n\n${showContext(context)}`]),
    ...(task.markdown === true ? [MARKDOWN] : []),
    task.output_schema
      ? askForJson(task.output_schema)
      : 'Answer with the output of the task only.',
  ]
  return [
    { role: 'system', content: system.join('\n') },
    { role: 'user', content: withImages(user.join('\n\n'), assignment) },
  ]
}

function withImages(text: string, { task, material }: Assignment): ChatMessage['content'] {
  const images = material.imagesFor([task.description, task.expected_output])
  return images.length === 0 ? text : [{ type: 'text', text }, ...images]
}

function showContext(context: readonly TaskOutput[]): string {
  return context.map(({ task, role, output }) => `## ${task} (${role})\n${output}`).join('\n\n')
}
