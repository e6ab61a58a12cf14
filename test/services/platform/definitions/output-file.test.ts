import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { artifactNames } from '../../../../services/crew/report-artifact.ts'
import {
  parseCrewDefinition,
  placesOf,
} from '../../../../services/platform/definitions/crew-definition.ts'
import { numberedName, safeName } from '../../../../services/platform/definitions/output-file.ts'
import { definition } from '../../../support/crew.ts'
import { anyCharacters } from '../../../support/any-characters.ts'

const [first, second] = definition.tasks

/** A crew whose two tasks write these files. */
const crewThatWrites = (one: unknown, two?: unknown) =>
  parseCrewDefinition({
    ...definition,
    inputs: [{ name: 'a', required: false }],
    tasks: [
      { ...first, output_file: one },
      { ...second, ...(two === undefined ? {} : { output_file: two }) },
    ],
  })

describe('the output_file of a task', () => {
  it.each<[unknown, string]>([
    [7, 'tasks[0].output_file: must be a text'],
    ['', 'tasks[0].output_file: must be a name, such as report.md'],
    ['/', 'must be a name, such as report.md'],
    [' . ', 'must be a name, such as report.md'],
    ['../report.md', 'must not lead out of its folder: leave out the part ..'],
    ['a\\..\\b.md', 'must not lead out of its folder'],
    ['a\nb.md', 'must not have control characters'],
    [`${'x'.repeat(253)}.md`, 'must have at most 255 characters'],
  ])('is refused when it is %j', (file, message) => {
    expect(() => crewThatWrites(file)).toThrow(message)
  })

  it('belongs to one task', () => {
    expect(() => crewThatWrites('out/Report.md', 'out-report.md')).toThrow(
      'the tasks research and write have the same output_file. Give each a name of its own.',
    )
  })

  it('asks for the inputs that its name has a place for', () => {
    expect(placesOf(crewThatWrites('{title}.md'))).toEqual(['topic', 'title'])
  })

  it.each<[template: string, input: unknown, name: string]>([
    ['report.md', '', 'report.md'],
    ['output/{a}/report.md', 'May', 'output-May-report.md'],
    ['{a}.md', '../../etc/passwd', 'etc-passwd.md'],
    ['{a}', 'C:\\windows\\system.ini', 'C--windows-system.ini'],
    ['{a}', '..', 'research.txt'],
    ['{a}', '', 'research.txt'],
    ['{a}.json', { x: 1 }, '{-x--1}.json'],
    ['{a}.md', 'con', '_con.md'],
    ['{a}.md', 'a\0b\r\nc', 'abc.md'],
    ['{a}.md', '\u202Egpj.x', 'gpj.x.md'],
    ['{a}.md', '\ud800x', 'x.md'],
    ['{a}.md', '日本', '日本.md'],
    ['{a}.md', 'x'.repeat(300), `${'x'.repeat(252)}.md`],
    ['{a}.md', '…'.repeat(100), `${'…'.repeat(84)}.md`],
    ['.{a}', 'bashrc', 'bashrc'],
  ])('%j with %j becomes %j', (template, a, name) => {
    expect(artifactNames(crewThatWrites(template), { a }).get('research')).toBe(name)
  })

  it('gets a number where two tasks would write the same', () => {
    const same = 'y'.repeat(300)
    const names = (a: unknown) => [...artifactNames(crewThatWrites('{a}.md', 'A.md'), { a })]
    expect(names('a')).toEqual([
      ['research', 'a.md'],
      ['write', 'A-2.md'],
    ])
    expect(names('b')).toEqual([
      ['research', 'b.md'],
      ['write', 'A.md'],
    ])
    expect(numberedName(safeName(`${same}.md`), 2)).toBe(`${'y'.repeat(250)}-2.md`)
  })

  it('is safe whatever goes into its name, and stays as it is then', () => {
    fc.assert(
      fc.property(anyCharacters(400), (text) => {
        const name = safeName(text)
        expect(name).not.toMatch(/[/\\<>:"|?*]|\p{C}|^[\s.]|[\s.]$/u)
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
        expect(safeName(name)).toBe(name)
      }),
    )
  })
})
