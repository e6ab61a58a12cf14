import { ASSISTANT_MODEL } from '../../../platform/assistant.ts'
import type { CrewDefinition } from '../../../platform/crew-definition.ts'

/** The definition that the form of a first version begins with. */
export const STARTER: CrewDefinition = {
  name: 'Newsletter',
  llm: { model: ASSISTANT_MODEL },
  agents: [{ key: 'editor', role: 'Editor', goal: 'Write about {topic}' }],
  tasks: [
    {
      key: 'write',
      agent: 'editor',
      description: 'Write a newsletter about {topic}.',
      expected_output: '200 words',
    },
  ],
}
