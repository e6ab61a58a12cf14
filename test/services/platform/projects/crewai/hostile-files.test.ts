import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { importCrew } from '../../../../../services/platform/projects/crewai/import-crew.ts'
import { parseJsonc } from '../../../../../services/platform/projects/crewai/jsonc.ts'
import { readLines } from '../../../../../services/platform/projects/crewai/python-tokens.ts'
import { AppError } from '../../../../../services/shared/errors.ts'
import { AGENTS_YAML, TASKS_YAML, agentJson, crewJson, importFiles, told } from './project.ts'
import { anyCharacters } from '../../../../support/any-characters.ts'

const RUNS = { numRuns: Number(process.env['FUZZ_RUNS'] ?? 100) }
const yaml = (tasks: string | Uint8Array) =>
  importFiles({ 'agents.yaml': AGENTS_YAML, 'tasks.yaml': tasks })

const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x, x]',
  ...Array.from('bcdefghi').map(
    (name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefgh'[index]}`).join(', ')}]`,
  ),
].join('\n')

describe('hostile files', () => {
  it.each([
    ['aliases that grow', bomb, /aliases grow too large/],
    ['an unknown alias', 'a: *b\n', /Unresolved alias|names no anchor/],
    ['a key that is there twice', 'a: {}\na: {}\n', /Map keys must be unique at line 2/],
    ['a tab', 'a:\n\tdescription: x\n', /Tabs are not allowed as indentation at line 2/],
    ['an object of Python', 'a: !!python/object:os.system x\n', /Unresolved tag/],
    ['two documents', 'a: {}\n---\nb: {}\n', /multiple documents/],
    ['many levels', '['.repeat(100_000), /not valid YAML/],
    ['a list', '- a\n- b\n', /must hold names with their keys; it holds a list/],
    ['an entry that is a text', 'a: b\n', /^tasks.yaml: a: This must hold keys/],
    ['Latin-1', Buffer.from('a: {description: é}\n', 'latin1'), /not UTF-8/],
    ['NUL', 'a: {description: "x\0"}\n', /the character U\+0000/],
    ['300 KiB', `# ${'x'.repeat(300 * 1024)}`, /too large. It has 307202 bytes; at most 262144/],
  ])('in YAML are refused with a reason: %s', (_, text, message) => {
    const imported = yaml(text)
    expect(imported.definition).toBeUndefined()
    expect(told(imported, 'refused').join('\n')).toMatch(message)
  })

  it.each([
    ['a mistake', '{\n  "name": "x",\n  "agents" ["a"]\n}', /look at line 3, column 12/],
    ['a comment without an end', '{"name": "x" /* }', /look at line 1/],
    ['a text without an end', '{"name": "x }', /look at line 1/],
    ['a key that is there twice', '{"name": "x", "name": "y"}', /is there twice. It is "name"/],
    ['many levels', `${'['.repeat(50)}${']'.repeat(50)}`, /nested deeper than 32/],
    ['a list', '[]', /must hold an object; it holds a list/],
  ])('in JSON are refused with a reason: %s', (_, text, message) => {
    const imported = importFiles({ 'crew.jsonc': text })
    expect(told(imported, 'refused').join('\n')).toMatch(message)
  })

  it.each(['../crew.jsonc', '/crew.jsonc', 'a//b', 'a/./b', 'a\\b', 'c:crew.jsonc', 'a\nb', ''])(
    'with the path %j are refused',
    (path) => {
      expect(() => importFiles({ [path]: crewJson(), 'agents/writer.json': agentJson() })).toThrow(
        /must be relative/,
      )
    },
  )

  it('of 10 MB in all, or too many, are refused', () => {
    const large = { 'crew.jsonc': crewJson(), 'notes.txt': Buffer.alloc(10_000_000) }
    expect(() => importFiles(large)).toThrow(/at most 1000 files and 2097152 bytes/)
    const many = Array.from({ length: 1001 }, (_, index) => [`${index}.txt`, Buffer.alloc(0)])
    expect(() => importCrew(new Map(many as [string, Buffer][]))).toThrow(/at most 1000 files/)
  })

  it('take no longer than their size allows', () => {
    const size = 250_000
    const hard = {
      comments: '/*/'.repeat(size / 3),
      quotes: '"\\'.repeat(size / 2),
      commas: ', '.repeat(size / 2),
    }
    for (const text of Object.values(hard)) expect(() => parseJsonc(text)).toThrow(AppError)
    expect(() => readLines('"\\'.repeat(size / 2))).toThrow(/no end/)
    expect(() => readLines('"""\\'.repeat(size / 4))).toThrow(/no end/)
    expect(readLines('('.repeat(size))).toHaveLength(1)
  })

  it('never make an import fail in another way than by its problems', () => {
    const heads = [
      '@CrewBase\n',
      'class A:\n',
      '    @task\n',
      '    def t(self):\n',
      ' return Task(',
    ]
    const signs = Array.from('"\'()[]{},\n\\#:=')
    const piece = fc.constantFrom(...heads, ...signs, '"""', 'x=', 'self.t()')
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, anyCharacters(), (program, other) => {
        const imported = importFiles({
          'crew.py': `@CrewBase\nclass A:\n${program}`,
          'agents.yaml': other,
          'tasks.yaml': TASKS_YAML,
        })
        expect(imported.problems.length).toBeGreaterThan(0)
      }),
      RUNS,
    )
  })

  it('of any JSON are a definition or refused', () => {
    const keys = ['role', 'llm', 'tools', 'mcps', 'context', 'agent', 'inputs', 'guardrails', 'x']
    const value = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, true, 1, '', 'writer', 'https://x.example/mcp#a', '{a-b}'),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys, 'python', 'url', 'model'), tie('json')),
      ),
    })).json
    const part = fc.dictionary(fc.constantFrom(...keys), value)
    fc.assert(
      fc.property(part, part, part, (crew, agent, task) => {
        const imported = importFiles({
          'crew.jsonc': crewJson(crew, task),
          'agents/writer.jsonc': agentJson(agent),
        })
        const isRefused = imported.problems.some(({ level }) => level === 'refused')
        expect(imported.definition === undefined).toBe(isRefused)
      }),
      RUNS,
    )
  })
})
