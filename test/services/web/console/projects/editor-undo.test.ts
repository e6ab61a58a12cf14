import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  readEdited,
  toDraft,
} from '../../../../../services/web/console/projects/editor/definition-form.ts'
import { editorForm } from '../../../../../services/web/console/projects/editor/form.ts'
import { isLong } from '../../../../support/long.ts'
import { fieldsOf } from '../../support/form-fields.ts'

interface History {
  type(): void
  remember(text: string): boolean
  undo(): string
}

/** The script of the editor has it from a file of its own, which needs no page. */
const file = '../../../../../services/web/console/frame/assets/history.js'
const { createHistory } = (await import(file)) as { createHistory: (opened: string) => History }

const crew = {
  name: 'Crew',
  llm: { model: 'm' },
  agents: [{ key: 'writer', role: 'Writer', goal: 'Write about {topic}' }],
  tasks: [{ key: 'write', agent: 'writer', description: 'Write.', expected_output: 'A text' }],
  inputs: ['topic'],
}
const opened = JSON.stringify(crew, null, 2)
const choices = { offers: new Map(), connections: [], automations: [] }

/** The editor as it is in a page: what both sides show, and the texts that it takes back. */
function openEditor() {
  const history = createHistory(opened)
  let [base, definition] = [opened, opened]
  let fields = shown(opened)
  const send = (act: string): void => {
    const form = new URLSearchParams(fields)
    form.set('base', base)
    form.set('definition', definition)
    form.set('act', act)
    const { text } = readEdited({ var: { form } } as never)
    base = text
    if (act !== 'show-text') definition = text
    if (act !== 'show-form') fields = shown(text)
    history.remember(text)
  }
  return {
    history,
    send,
    read: () => ({ definition, fields: fields.toString() }),
    names: () => [...new Set(fields.keys())].filter((name) => !name.endsWith('.key')),
    setField: (name: string, given: string): void => fields.set(name, given),
    setText: (text: string) => void (definition = text),
    undo() {
      definition = history.undo()
      send('show-text')
    },
  }
}

const shown = (text: string): URLSearchParams =>
  fieldsOf([editorForm(toDraft(text), { problems: [], choices })].map(String).join(''))

type Step =
  | { readonly of: 'field'; readonly at: number; readonly value: string }
  | { readonly of: 'key'; readonly value: string }
  | { readonly of: 'button'; readonly act: string }
  | { readonly of: 'text'; readonly text: string }
  | { readonly of: 'typed and taken back'; readonly value: string }

const value = fc.string({
  unit: fc.constantFrom('a', ' ', '\n', '"', '<', '{', '}', 'é', '😀', '1'),
})
const list = fc.constantFrom('agents', 'tasks', 'inputs')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ of: fc.constant('field' as const), at: fc.nat(100), value }),
  fc.record({ of: fc.constant('key' as const), value: fc.constantFrom('writer', 'poet', '') }),
  fc.record({
    of: fc.constant('button' as const),
    act: fc.oneof(
      list.map((name) => `add-${name}`),
      fc.constantFrom('add-tools.mcp', 'add-tools.time', 'remove-tools.0', 'unknown'),
      fc
        .tuple(fc.constantFrom('remove', 'up'), list, fc.nat(2))
        .map(([verb, of, at]) => `${verb}-${of}.${at}`),
    ),
  }),
  fc.record({
    of: fc.constant('text' as const),
    text: fc.oneof(
      fc.constantFrom('', '{"half":', '[1]', opened, JSON.stringify(crew), `\n ${opened}\n`),
      value.map((name) => JSON.stringify({ ...crew, name, unknown: { deep: [1e21, null] } })),
      value,
    ),
  }),
  fc.record({ of: fc.constant('typed and taken back' as const), value }),
)

type OpenEditor = ReturnType<typeof openEditor>

function take(editor: OpenEditor, given: Step): void {
  const names = editor.names()
  editor.history.type()
  switch (given.of) {
    case 'field': {
      const name = names[given.at % Math.max(names.length, 1)]
      if (name !== undefined) editor.setField(name, given.value)
      return editor.send('show-form')
    }
    case 'key':
      editor.setField('agents.0.key', given.value)
      return editor.send('rename')
    case 'button':
      return editor.send(given.act)
    case 'text':
      editor.setText(given.text)
      return editor.send('show-text')
    case 'typed and taken back':
      // The server has not been asked yet.
      editor.setText(given.value)
      return editor.undo()
  }
}

describe('Undo of the editor', () => {
  it('takes back each change of form and text, to the first definition exactly', () => {
    const walk = fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const editor = openEditor()
      const first = editor.read()
      const former = [opened]
      for (const each of steps) {
        const before = former.at(-1)
        take(editor, each)
        const { definition } = editor.read()
        if (each.of === 'typed and taken back') expect(definition).toBe(before)
        else if (definition.trim() !== before) former.push(definition.trim())
      }
      for (const text of former.slice(0, -1).toReversed()) {
        editor.undo()
        expect(editor.read().definition).toBe(text)
      }
      // White space around the text is not a change, and remains as it was typed.
      const last = editor.read()
      expect({ ...last, definition: last.definition.trim() }).toEqual(first)
    })
    fc.assert(walk, { numRuns: isLong ? 2000 : 15 })
  })

  it('knows the last hundred texts', () => {
    const history = createHistory('0')
    for (let each = 1; each <= 150; each += 1) history.remember(String(each))
    const taken = Array.from({ length: 120 }, () => {
      const text = history.undo()
      return history.remember(text) ? text : `last ${text}`
    })
    expect(taken[0]).toBe('149')
    expect(taken.at(-1)).toBe('last 51')
  })
})
