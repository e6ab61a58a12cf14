import { describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { toError } from '../../../services/shared/errors.ts'
import { definition } from '../../support/crew.ts'
import { modelHere, promptOf, runHere } from './run-here.ts'

const [first, second] = definition.agents
const text = (content: string) => ({ text: content })

const crewThatKnows = (knowledge: unknown, ...names: [unknown?, unknown?]) =>
  parseCrewDefinition({
    ...definition,
    knowledge,
    agents: [first, second].map((agent, index) =>
      names[index] === undefined ? agent : { ...agent, knowledge: names[index] },
    ),
  })

const HANDBOOK = [
  ...Array.from({ length: 60 }, (_, at) => `## Rule ${at}\n\n${'Nothing of note. '.repeat(10)}`),
  '## Refunds\n\nA refund takes {topic} days, and needs the receipt.',
].join('\n\n')

describe('the knowledge of a version', () => {
  it.each<[string, unknown, unknown, string]>([
    ['no object', [], undefined, 'knowledge: must be an object'],
    ['a text alone', { a: 'x' }, undefined, 'knowledge.a: must be an object'],
    ['an empty text', { a: text(' ') }, undefined, 'knowledge.a.text: must not be empty'],
    ['a name with a space', { 'a b': text('x') }, undefined, 'must start with a letter'],
    ['a stray key', { a: { text: 'x', url: 'y' } }, undefined, 'url is not known'],
    ['more than 1 MiB', { a: text('é'.repeat(524_289)) }, undefined, 'at most 1048576 bytes'],
    [
      '101 texts',
      Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`t${at}`, text('x')])),
      undefined,
      'must have at most 100 texts',
    ],
    ['an agent that names another one', { a: text('x') }, ['b'], 'names the text b, which is not'],
    ['an agent that names one of an object', undefined, ['toString'], 'names the text toString'],
    ['an agent that names one twice', { a: text('x') }, ['a', 'a'], 'must not name one twice'],
    ['an agent that names a text as text', { a: text('x') }, 'a', 'must be a list'],
  ])('is refused with %s', (...[, knowledge, names, message]) => {
    expect(() => crewThatKnows(knowledge, names)).toThrow(message)
  })

  it('is refused without repeating it', () => {
    try {
      crewThatKnows({ a: text(`secret${'x'.repeat(1_048_576)}`) })
      expect.unreachable()
    } catch (thrown) {
      expect(toError(thrown).message).not.toContain('secret')
    }
  })
})

describe('an agent', () => {
  it('has short texts in its prompt, as they are, and no others', async () => {
    const model = modelHere(() => 'Done.')
    const knowledge = { a: text('Say {topic}.'), b: text('Be brief.'), c: text('Not for them.') }
    const crew = crewThatKnows(knowledge, ['a', 'b'])
    await runHere({ definition: crew, llm: model.llm, inputs: { topic: 'tides' } })
    const [one, two] = model.calls.map(promptOf)
    expect(one).toContain(
      'What you know, and may rely on:\n\n<knowledge name="a">\nSay {topic}.\n</knowledge>\n\n' +
        '<knowledge name="b">\nBe brief.\n</knowledge>',
    )
    expect(one).not.toContain('Not for them.')
    expect(two).not.toContain('<knowledge')
    expect(model.calls.flatMap(({ tools = [] }) => tools)).toEqual([])
  })

  it('has the names of skills in its prompt, and reads them when it needs them', async () => {
    const forms = {
      text: 'First read fields.md.',
      description: 'Fills in forms.',
      files: { 'fields.md': 'Name, date.' },
    }
    const asked = [
      '{"name":"forms"}',
      '{"name":"forms","file":"fields.md"}',
      '{"name":"forms","file":"../x"}',
    ]
    const model = modelHere(({ messages }) => {
      const given = asked[(messages.length - 2) / 2]
      return given === undefined
        ? 'Done.'
        : { toolCalls: [{ id: String(messages.length), name: 'read_skill', arguments: given }] }
    })
    const crew = crewThatKnows({ forms }, ['forms'])
    await runHere({ definition: crew, llm: model.llm, inputs: { topic: 'tides' } })
    const [prompt = ''] = model.calls.map(promptOf)
    expect(prompt).toContain('<skill name="forms">\nFills in forms.\n</skill>')
    expect(prompt).not.toContain('First read')
    const results = JSON.stringify(model.calls[3]?.messages)
    expect(results).toContain('First read fields.md.')
    expect(results).toContain('Its files: fields.md (11).')
    expect(results).toContain('Name, date.')
    expect(results).toContain('There is no file ../x. Known: fields.md.')
  })

  it('learns on which page of a document it found something', async () => {
    const model = modelHere(({ messages }) =>
      messages.length === 2
        ? { toolCalls: [{ id: '1', name: 'search_knowledge', arguments: '{"query":"receipt"}' }] }
        : 'Done.',
    )
    const text = `[Page 1]\n${HANDBOOK.replace('receipt', 'bill')}\n\n[Page 2]\n${HANDBOOK}`
    const crew = crewThatKnows({ handbook: { text, extent: '2 pages' } }, ['handbook'])
    await runHere({ definition: crew, llm: model.llm, inputs: { topic: 'tides' } })
    expect(JSON.stringify(model.calls[1]?.messages)).toContain('from=\\"handbook\\" page=\\"2\\"')
  })

  it('searches long texts', async () => {
    const model = modelHere(({ messages }) =>
      messages.length === 2
        ? { toolCalls: [{ id: '1', name: 'search_knowledge', arguments: '{"query":"receipt"}' }] }
        : 'Done.',
    )
    const crew = crewThatKnows({ handbook: text(HANDBOOK), note: text('Be kind.') }, [
      'handbook',
      'note',
    ])
    const { events } = await runHere({
      definition: crew,
      llm: model.llm,
      inputs: { topic: 'tides' },
    })
    expect(model.calls[0]?.tools?.map((tool) => tool.function.name)).toEqual(['search_knowledge'])
    expect(model.calls[0]?.tools?.[0]?.function.description).toContain('The texts: handbook.')
    expect(promptOf(model.calls[0] ?? { model: '', messages: [] })).toContain('Be kind.')
    expect(model.calls[1]?.messages.at(-1)?.content).toMatch(
      /^<passage from="handbook" offset="\d+">\n[^]*A refund takes \{topic\} days[^]*<\/passage>$/,
    )
    expect(events.find(({ type }) => type === 'tool_call')).toMatchObject({
      name: 'search_knowledge',
      tool_type: 'search_knowledge',
    })
  })

  it('searches short texts, too, where there are many', async () => {
    const model = modelHere(() => 'Done.')
    const names = ['a', 'b', 'c', 'd', 'e']
    const knowledge = Object.fromEntries(names.map((name) => [name, text('x'.repeat(4096))]))
    const crew = crewThatKnows(knowledge, names)
    await runHere({ definition: crew, llm: model.llm, inputs: { topic: 'x' } })
    expect(promptOf(model.calls[0] ?? { model: '', messages: [] })).toContain('name="d"')
    expect(model.calls[0]?.tools?.[0]?.function.description).toContain('The texts: e.')
  })
})
