import { PROCESSES } from '../../platform/crew-process.ts'
import { TOOL_TYPES } from '../../platform/tool-definitions.ts'
import { list, text } from './parts.ts'

const flag = { type: 'boolean', default: false }
const llm = {
  type: 'object',
  required: ['model'],
  properties: {
    model: text,
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    max_tokens: { type: 'integer', minimum: 1 },
  },
}
const agent = {
  type: 'object',
  required: ['key', 'role', 'goal'],
  properties: {
    key: text,
    role: text,
    goal: text,
    backstory: text,
    llm,
    tools: list(text),
    allow_delegation: flag,
    max_iterations: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
}
const guardrail = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { enum: ['schema', 'expression', 'llm'] },
    schema: { type: 'object', description: 'Of type schema.' },
    expression: { ...text, description: 'Of type expression.' },
    message: { ...text, description: 'Of type expression: what the agent is told.' },
    instruction: { ...text, description: 'Of type llm.' },
    model: { ...text, description: 'Of type llm; that of the agent by default.' },
  },
}
const task = {
  type: 'object',
  required: ['key', 'description', 'expected_output'],
  properties: {
    key: text,
    description: text,
    expected_output: text,
    agent: { ...text, description: 'Required, unless a manager gives out the tasks.' },
    context: {
      ...list(text),
      description: 'The tasks whose outputs it gets; all before it by default.',
    },
    async: flag,
    markdown: flag,
    output_schema: { type: 'object', description: 'A JSON Schema.' },
    guardrail,
    guardrails: list(guardrail),
    guardrail_max_retries: { type: 'integer', minimum: 0, maximum: 10, default: 3 },
    human_input: flag,
    output_file: { ...text, description: 'The name of the file that its output becomes.' },
  },
}

/** The schema of a crew definition; the page of the manual on designing crews has its rules. */
export const definitionSchema = {
  type: 'object',
  required: ['name', 'llm', 'agents', 'tasks'],
  properties: {
    name: text,
    llm,
    inputs: list({}),
    process: { enum: PROCESSES, default: 'sequential' },
    manager_llm: llm,
    manager_agent: text,
    tools: {
      type: 'object',
      description: 'By the names that agents use in their `tools`; docs/tools.md has the fields.',
      additionalProperties: {
        type: 'object',
        required: ['type'],
        properties: { type: { enum: TOOL_TYPES } },
      },
    },
    agents: list(agent),
    tasks: list(task),
  },
}
