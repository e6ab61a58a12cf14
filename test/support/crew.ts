import type { CrewDefinition } from '../../services/platform/definitions/crew-definition.ts'

/** A crew of two agents and two tasks that needs one input, `topic`. */
export const definition: CrewDefinition = {
  name: 'Research',
  llm: { model: 'test-model', temperature: 0.2 },
  agents: [
    {
      key: 'researcher',
      role: 'Researcher',
      goal: 'Find facts about {topic}',
      backstory: 'You are careful.',
    },
    { key: 'writer', role: 'Writer', goal: 'Write about {topic}' },
  ],
  tasks: [
    {
      key: 'research',
      description: 'List facts about {topic}.',
      expected_output: 'Five facts',
      agent: 'researcher',
    },
    {
      key: 'write',
      description: 'Write a summary of {topic}.',
      expected_output: 'One paragraph',
      agent: 'writer',
    },
  ],
}
