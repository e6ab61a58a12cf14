import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promptFor } from '../../../../services/crew/prompts.ts'
import { fillIn } from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import {
  changeDefinition,
  unfill,
} from '../../../../services/platform/model-calls/change-definition.ts'
import { messageText } from '../../../../services/shared/models/llm-call.ts'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import { definition } from '../../../support/crew.ts'

const inputs = { topic: 'tides' }
const place = { task: 'research', agent: 'researcher' }
const [task] = definition.tasks
const [agent] = definition.agents
if (!task || !agent) throw new Error('no crew')

/** The first call of a task, as the runtime asks its model, and as the run has it. */
const recorded: LlmCall = {
  model: 'test-model',
  temperature: 0.2,
  messages: promptFor({
    agent,
    task,
    inputs,
    context: [{ task: 'before', role: 'Reader', output: 'Earlier.' }],
    material: { shown: {}, imagesFor: () => [], knowledgeFor: () => 'You know: the moon.' },
  }),
}

const withText = (at: number, from: string, to: string): LlmCall => ({
  ...recorded,
  messages: recorded.messages.map((each, index) =>
    index === at ? { ...each, content: messageText(each.content).replace(from, to) } : each,
  ),
})

const change = (changed: LlmCall, withTexts = true, of: CrewDefinition = definition) =>
  changeDefinition(of, { recorded, changed, place, inputs }, { withTexts })

const changedTo = (changed: LlmCall) => {
  const written = change(changed)
  if ('problem' in written) throw new Error(written.problem)
  const { agents, tasks } = written.definition
  return { agent: agents[0], task: tasks[0], others: [agents[1], tasks[1]] }
}

describe('a changed call', () => {
  it('becomes the role, the backstory and the goal of its agent, with places for inputs', () => {
    const role = changedTo(withText(0, 'You are Researcher.', 'You are Oceanographer.'))
    expect(role.agent).toEqual({ ...agent, role: 'Oceanographer' })
    expect(role.others).toEqual([definition.agents[1], definition.tasks[1]])
    const goal = changedTo(withText(0, 'Find facts about tides', 'Say what tides do to ports'))
    expect(goal.agent).toEqual({ ...agent, goal: 'Say what {topic} do to ports' })
    const story = changedTo(withText(0, 'You are careful.\n', ''))
    expect(story.agent).toEqual({ key: agent.key, role: agent.role, goal: agent.goal })
  })

  it('becomes the description and the expected output of its task', () => {
    const what = changedTo(withText(1, 'List facts about tides.', 'List odd facts about tides!'))
    expect(what.task).toEqual({ ...task, description: 'List odd facts about {topic}!' })
    const result = changedTo(withText(1, 'Five facts', 'Three facts'))
    expect(result.task).toEqual({ ...task, expected_output: 'Three facts' })
  })

  it('becomes the model of its agent alone, and takes parameters away', () => {
    const { agent: own, others } = changedTo({
      ...recorded,
      model: 'other',
      temperature: undefined,
    })
    expect(own).toEqual({ ...agent, llm: { model: 'other' } })
    expect(others[0]).toEqual(definition.agents[1])
  })

  it.each([
    ['a text that the run added', withText(1, 'Earlier.', 'Later.'), 'second message'],
    ['what the agent knows', withText(0, 'the moon', 'the sun'), 'first message'],
    [
      'a place of an input that is not certain',
      withText(1, 'List facts about tides.', 'Of tides, tides!'),
      'second',
    ],
    ['an input that no version has', withText(1, 'facts', '{fact}'), 'second message'],
    ['what is no agent any more', withText(0, 'Your goal: ', 'Goal: '), 'first message'],
    [
      'a further message',
      { ...recorded, messages: [...recorded.messages, { role: 'user', content: 'And?' }] },
      'Only the first two messages',
    ],
    ['other tools', { ...recorded, tools: [] }, 'Nothing is changed'],
  ])('is refused for %s, in favour of its parameters', (_, changed, reason) => {
    expect(change(changed)).toEqual({ problem: expect.stringContaining(reason) as unknown })
    const bare = change({ ...changed, temperature: 1 }, false)
    expect(bare).toHaveProperty('definition.agents.0.llm', { model: 'test-model', temperature: 1 })
  })

  it('is refused where the definition calls other models by now', () => {
    const other = { ...definition, llm: { model: 'another' } }
    expect(change(withText(1, 'Five', 'Six'), true, other)).toHaveProperty('problem')
  })
})

describe('a text that was filled in and changed', () => {
  const word = fc.stringMatching(/^[a-c {}]{0,6}$/)
  const template = fc
    .array(fc.oneof(word, fc.constantFrom('{a}', '{b}')), { maxLength: 5 })
    .map((parts) => parts.join(''))

  it('is the same text again whenever it is a template', () => {
    fc.assert(
      fc.property(template, fc.record({ a: word, b: word }), template, (given, inputs, other) => {
        const now = fillIn(other, inputs)
        const found = unfill(given, inputs, now)
        if (found !== undefined) expect(fillIn(found, inputs)).toBe(now)
        expect(unfill(given, inputs, fillIn(given, inputs))).toBe(given)
      }),
    )
  })

  it('keeps each place of an input before and behind one change', () => {
    const text = fc.stringMatching(/^[x-z ]{1,8}$/)
    fc.assert(
      fc.property(text, text, text, (was, now, value) => {
        const inputs = { a: `<${value}>` }
        const found = unfill(`{a} ${was} {a}`, inputs, `<${value}> ${now} <${value}>`)
        expect(found).toBe(`{a} ${now} {a}`)
      }),
    )
  })
})
