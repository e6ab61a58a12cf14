import { crewDefinitionSchema } from './crew-definition-schema.ts'
import { crewRules } from './crew-definition.ts'
import type { CrewDefinition } from './crew-definition.ts'

/** Of the parts of the answer, the one that JSON Schema cannot express is said in words. */
const FORMAT = [
  'A crew definition is a JSON object that this JSON Schema describes:',
  JSON.stringify(crewDefinitionSchema({ isWritten: true })),
  `Besides: ${crewRules().join('; ')}.`,
].join('\n')

const assistant: CrewDefinition = {
  name: 'Assistant',
  llm: { model: 'gpt-5.4-mini' },
  inputs: [
    { name: 'request', label: 'What the crew should do' },
    { name: 'models', description: 'The models that it may use.', default: 'gpt-5.4-mini' },
    { name: 'current', description: 'The definition to change.', default: 'There is none yet.' },
    { name: 'correction', description: 'What was wrong with an earlier answer.', default: '' },
  ],
  agents: [
    {
      key: 'designer',
      role: 'Designer of crews',
      goal:
        'Turn what people ask for into a crew: a few agents, and the tasks they do one after ' +
        'the other.',
      backstory:
        'You have designed many automations. You use as few agents and tasks as will do, and ' +
        'you name the inputs that a run needs.',
    },
  ],
  tasks: [
    {
      key: 'design',
      agent: 'designer',
      description: [
        'Design a crew for this request:\n{request}',
        'The definition to change, of which you keep all that the request does not touch:\n' +
          '{current}',
        'The models that it may use: {models}',
        'Texts hold a place for each input of a run: its name in braces.',
        FORMAT,
        '{correction}',
      ].join('\n\n'),
      expected_output: 'One JSON object, a whole crew definition, and nothing else.',
    },
  ],
}

/**
 * Runs the crews of projects that have no pod of their own; what it holds itself is for trying it
 * out.
 */
const runner: CrewDefinition = {
  name: 'Runner',
  llm: { model: 'gpt-5.4-mini' },
  agents: [
    { key: 'worker', role: 'Careful worker', goal: 'Do what is asked, completely and briefly.' },
  ],
  tasks: [
    {
      key: 'work',
      agent: 'worker',
      description: 'Do this: {task}',
      expected_output: 'The result, without any introduction.',
    },
  ],
}

/** The definitions of the internal organization's crews, by the slugs of their automations. */
export const INTERNAL_DEFINITIONS = { assistant, runner } as const satisfies Record<
  string,
  CrewDefinition
>

/** The slug of an internal crew's automation. */
export type InternalSlug = keyof typeof INTERNAL_DEFINITIONS

/**
 * The crews of the internal organization that the designer works with, by the slugs of their
 * automations (SPEC 2.3).
 */
export const INTERNAL_CREWS = {
  agent: { slugs: ['assistant'] },
  runner: { slugs: ['runner'] },
} as const satisfies Record<string, { readonly slugs: readonly InternalSlug[] }>
