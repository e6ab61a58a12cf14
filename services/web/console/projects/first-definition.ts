import { ASSISTANT_MODEL } from '../../../platform/projects/assistant.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { Project } from '../../../platform/projects/projects.ts'

/** Returns the definition that the form of a project's first version begins with. */
export const firstDefinition = ({ name }: Pick<Project, 'name'>): CrewDefinition => ({
  name,
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
})
