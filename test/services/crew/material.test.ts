import { describe, expect, it } from 'vitest'
import { checkFiles } from '../../../services/crew/material/files.ts'
import { openMaterial } from '../../../services/crew/material/material.ts'
import type { Material } from '../../../services/crew/material/material.ts'
import { pdf } from '../documents/corpus.ts'
import { programPath } from '../../support/program.ts'
import { modelHere, runHere } from './run-here.ts'
import { createDocumentReader } from '../../../services/shared/documents/read-document.ts'
import { callTool } from '../../../services/crew/tools/call-tool.ts'
import type { CrewTool } from '../../../services/crew/tools/tool.ts'
import { openToolbox } from '../../../services/crew/tools/toolbox.ts'
import type { Agent } from '../../../services/platform/definitions/crew-definition.ts'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import type { KickoffFile } from '../../../services/platform/crew-contract/kickoff-files.ts'
import { definition } from '../../support/crew.ts'
import { guardFor } from '../../support/outgoing.ts'

const [ONE, TWO] = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
] as const

const file = (name: string, content: string, media_type = 'text/plain'): KickoffFile => ({
  name,
  media_type,
  size: content.length,
  content_base64: Buffer.from(content).toString('base64'),
})

const readDocument = createDocumentReader([programPath('documents')])

const INPUTS = { topic: 'x', a: { file_id: ONE } }

const withFiles = (more: object = {}) =>
  parseCrewDefinition({
    ...definition,
    inputs: [
      { name: 'a', type: 'file', required: false },
      { name: 'b', type: 'file', required: false },
    ],
    ...more,
  })

const open = (files: Record<string, KickoffFile>, more: object = {}) =>
  openMaterial(
    {
      definition: withFiles(more),
      inputs: { ...INPUTS, b: files[TWO] ? { file_id: TWO } : '' },
      files,
    },
    { readDocument },
  )

/** The functions that an agent may call, by their names. */
function toolsOf(material: Material, agent: Partial<Agent> = {}, tools = {}) {
  const toolbox = openToolbox({ guard: guardFor(), connections: {}, readDocument }, tools)
  const [first] = definition.agents
  return material.withTools(toolbox).toolsFor({ key: 'a', role: '', goal: '', ...first, ...agent })
}

const callOf = (given: object) => ({
  arguments: { ...given },
  path: [],
  idempotencyKey: 'k',
  signal: new AbortController().signal,
})

async function textOf(tool: CrewTool, given: object): Promise<string> {
  const answer = await callTool(tool, callOf(given), { timeoutMs: 60_000, secrets: () => [] })
  return 'text' in answer ? answer.text : 'a pause'
}

describe('files for agents', () => {
  it('have names of their own, in the prompt and for the tool', async () => {
    const material = await open({
      [ONE]: file('x.txt', 'one'),
      [TWO]: file('x.txt', 'two\u{1F600}.'),
    })
    expect(material.inputs).toMatchObject({ a: 'x.txt', b: 'x-2.txt' })
    const [tool] = toolsOf(material)
    if (!tool) throw new Error('no tool')
    expect(tool.description).toContain('x.txt (3), x-2.txt (6)')
    const read = (given: object) => textOf(tool, given)
    expect(await read({ name: 'x-2.txt' })).toContain('two')
    expect(await read({ name: 'x.txt', offset: 1, limit: 1 })).toBe(
      'n\n\n(Characters 1 to 2 of 3. Read on with offset 2.)',
    )
    expect(await read({ name: 'x-2.txt', offset: 0, limit: 4 })).toContain('\u{1F600}\n')
    expect(await read({ name: 'y.txt' })).toContain('Did you mean x.txt? Known: x.txt, x-2.txt.')
    expect(await read({ name: 'x.txt', offset: 3 })).toContain('The file has 3 characters')
  })

  it('are documents too, whose pages have numbers', async () => {
    const content = pdf([{ lines: ['One'] }, { lines: ['Two'] }])
    const report = { ...file('q3.pdf', '', 'application/pdf'), size: content.length }
    const material = await open({
      [ONE]: { ...report, content_base64: content.toString('base64') },
    })
    expect(material.shown['a']).toContain('<file name="q3.pdf" length="2 pages">\n[Page 1]\nOne')
    const [tool] = toolsOf(material)
    if (!tool) throw new Error('no tool')
    expect(tool.description).toContain('q3.pdf (26, 2 pages)')
    const read = (given: object) => textOf(tool, given)
    expect(await read({ name: 'q3.pdf', page: 2 })).toContain('[Page 2]\nTwo\n\n(Characters 14')
    expect(await read({ name: 'q3.pdf', page: 3 })).toContain('no page 3: the file has 2 pages')
  })

  it('end the run in words when a document cannot be read', async () => {
    const { last } = await runHere({
      definition: withFiles(),
      llm: modelHere(() => 'Done.').llm,
      inputs: INPUTS,
      files: { [ONE]: file('q3.pdf', '%PDF-1.7 no', 'application/pdf') },
    })
    expect(last).toMatchObject({
      type: 'failed',
      error: {
        code: 'document_unreadable',
        message: 'The file q3.pdf is damaged: it is no whole PDF.',
      },
    })
  })

  it('never hide a tool of the version', async () => {
    const names = async (agent: Partial<Agent>) =>
      toolsOf(await open({ [ONE]: file('x.txt', 'one') }), agent, {
        read_file: { type: 'time' },
      }).map(({ name, type }) => [name, type])
    expect(await names({ tools: ['read_file'] })).toEqual([
      ['read_file', 'time'],
      ['read_file_2', 'read_file'],
    ])
    expect(await names({})).toEqual([['read_file', 'read_file']])
  })

  it('go into a prompt as they are, and not as templates', async () => {
    const { shown } = await open({ [ONE]: file('x.txt', '{topic} {b}') })
    expect(shown).toEqual({ a: '\n<file name="x.txt">\n{topic} {b}\n</file>\n' })
  })

  it.each<[string, Record<string, KickoffFile>, string]>([
    ['that the kickoff does not bring', {}, 'no content for the file of the input a.'],
    [
      'of another type',
      { [ONE]: file('x.bin', 'x', 'application/octet-stream') },
      'The file x.bin is application/octet-stream. Agents work with text in UTF-8',
    ],
  ])('are refused %s', (_, files, message) => {
    expect(() => checkFiles({ definition: withFiles(), inputs: INPUTS, files })).toThrow(message)
    return expect(open(files)).rejects.toThrow(message)
  })
})
