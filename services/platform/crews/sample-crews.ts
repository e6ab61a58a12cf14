import type { CrewDefinition } from '../definitions/crew-definition.ts'

/** A crew to try the platform with. */
export interface SampleCrew {
  readonly name: string
  readonly slug: string
  readonly definition: CrewDefinition
  /** Inputs of a run that shows what the crew does. */
  readonly inputs: Readonly<Record<string, string>>
}

const research: SampleCrew = {
  name: 'Market research',
  slug: 'market-research',
  inputs: { topic: 'heat pumps in Northern Europe' },
  definition: {
    name: 'Market research',
    llm: { model: 'gpt-5.4-mini' },
    agents: [
      {
        key: 'researcher',
        role: 'Senior market researcher',
        goal: 'Find what matters about {topic}, and separate fact from opinion.',
        backstory:
          'You have read industry reports for twenty years and trust numbers with a source.',
      },
      {
        key: 'writer',
        role: 'Briefing writer',
        goal: 'Turn findings about {topic} into a page that a busy reader finishes.',
        backstory: 'You write short sentences and lead with the conclusion.',
      },
    ],
    tasks: [
      {
        key: 'research',
        agent: 'researcher',
        description: 'Collect the five most important findings about {topic}.',
        expected_output: 'Five numbered findings of one sentence each.',
      },
      {
        key: 'briefing',
        agent: 'writer',
        description: 'Write a briefing about {topic}.',
        expected_output: 'A briefing of at most 150 words with a headline.',
      },
    ],
  },
}

const support: SampleCrew = {
  name: 'Support triage',
  slug: 'support-triage',
  inputs: { customer: 'Northwind', message: 'Our nightly export has failed twice since Tuesday.' },
  definition: {
    name: 'Support triage',
    llm: { model: 'gpt-5.4-mini' },
    agents: [
      {
        key: 'analyst',
        role: 'Support analyst',
        goal: 'Understand what {customer} needs and how urgent it is.',
        backstory: 'You know the product by heart and never guess.',
      },
      {
        key: 'responder',
        role: 'Support engineer',
        goal: 'Give {customer} an answer that helps at once.',
      },
    ],
    tasks: [
      {
        key: 'classify',
        agent: 'analyst',
        description: 'Classify this message from {customer} by topic and urgency: {message}',
        expected_output: 'Topic, urgency from 1 to 4, and the reason in one sentence.',
      },
      {
        key: 'reply',
        agent: 'responder',
        description: 'Draft a reply to {customer}.',
        expected_output: 'A friendly reply of at most 100 words with the next step.',
      },
    ],
  },
}

/** The sample crews of `npm start` and of the task `seed`. */
export const sampleCrews: readonly SampleCrew[] = [research, support]
