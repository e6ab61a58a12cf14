import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCsv, toCsv } from '../../../../services/platform/batches/csv.ts'
import { readRows } from '../../../../services/platform/batches/read-rows.ts'
import type { RowFormat } from '../../../../services/platform/batches/read-rows.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { AppError } from '../../../../services/shared/errors.ts'
import { definition } from '../../../support/crew.ts'

const typed: CrewDefinition = {
  ...definition,
  inputs: [
    'topic',
    { name: 'pages', type: 'integer', default: 1 },
    { name: 'tags', type: 'array', required: false },
    { name: 'source', type: 'file', required: false },
  ],
}

const read = (content: string | Uint8Array, format: RowFormat = 'csv', keyName = 'id') => [
  ...readRows({
    content: typeof content === 'string' ? Buffer.from(content) : content,
    format,
    keyName,
    definition: typed,
  }),
]

/** The problems of rows that are refused. */
function problemsOf(...given: Parameters<typeof read>): unknown {
  try {
    read(...given)
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown.details['problems'] ?? thrown.message
  }
  return 'accepted'
}

describe('the rows of a batch', () => {
  it('are read from CSV as the types of the inputs, with keys or their numbers', () => {
    const content =
      '\uFEFFid,topic,pages,tags\r\na7,"The ""tides"", high\r\nand low",3,"[""x""]"\n,b,,\n'
    const nothing = { source: '' }
    expect(read(content)).toMatchObject([
      {
        key: 'a7',
        inputs: { topic: 'The "tides", high\r\nand low', pages: 3, tags: ['x'], ...nothing },
      },
      { key: '2', inputs: { topic: 'b', pages: 1, tags: '', ...nothing } },
    ])
  })

  it('are read from lines of JSON', () => {
    const content = '{"topic":"a","id":7}\n\n{"topic":"b","pages":2}'
    expect(read(content, 'jsonl').map(({ key, inputs }) => [key, inputs['pages']])).toEqual([
      ['7', 1],
      ['2', 2],
    ])
    expect(read('{"topic":"a"}', 'jsonl', 'topic')).toMatchObject([
      { key: 'a', inputs: { topic: 'a' } },
    ])
  })

  it('name each that is wrong with its line, 20 at the most', () => {
    expect(problemsOf('topic,pages\na,1\n,2\n"b\nc",x\nd\nx,1')).toEqual([
      { line: 3, problem: 'is refused: topic must not be empty.' },
      { line: 4, problem: 'is refused: pages must be a whole number.' },
      { line: 6, problem: 'has 1 cells, and the header 2' },
    ])
    expect(problemsOf('{"topic":"a","id":1}\n{"topic":"a","id":"1"}\n[]\n{', 'jsonl')).toEqual([
      { line: 2, problem: 'has the key of line 1 (id)' },
      { line: 3, problem: 'is not an object of inputs' },
      { line: 4, problem: 'is refused: It is not valid JSON in UTF-8.' },
    ])
    expect(problemsOf(`topic\n${'" "\n'.repeat(100)}`)).toHaveLength(20)
  })

  it.each([
    ['a quotation mark without its end', 'topic\n"a\n', /quotation mark that is not closed/],
    ['a quotation mark within a cell', 'topic\na"b"\n', /within a cell/],
    ['a million columns', `topic${',x'.repeat(1_000_000)}\n`, /more than 200 cells/],
    ['a cell of a million characters', `topic\n${'x'.repeat(1_000_000)}`, /65536 characters/],
    ['NUL', 'topic\na\0b\n', /character that cannot be stored/],
    ['a column twice', 'topic,topic\na,b\n', /column twice/],
    ['a column that is no input', 'topic;pages\na;1\n', /"topic;pages", which is no input/],
    ['no id of a file', 'topic,source\na,report.pdf\n', /source must be a file that was sent/],
    ['UTF-16', Buffer.from('\uFEFFtopic\na\n', 'utf16le'), /in UTF-16/],
    ['Latin-1', Buffer.from('topic\ncaf\xe9\n', 'latin1'), /not in UTF-8/],
    ['what is compressed', Buffer.from([0x1f, 0x8b, 8, 0, 0xff]), /not in UTF-8/],
    ['no rows', 'topic\n', /no rows/],
    ['nothing', '', /no rows/],
  ])('refuse %s', (_, content, message) => {
    expect(JSON.stringify(problemsOf(content)).replaceAll('\\"', '"')).toMatch(message)
  })
})

describe('CSV', () => {
  it('is read as it was written', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', "'", 'é') })
    const record = fc.array(cell, { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(record, { maxLength: 4 }), (records) => {
        const text = records.map(toCsv).join('')
        const limits = { cells: 5, characters: 10_000 }
        const cells = [...readCsv(text, limits)].map((each) => 'cells' in each && each.cells)
        expect(cells).toEqual(records.map((each) => each.map(withoutFormula)))
      }),
    )
  })

  it('has no formulas', () => {
    expect(toCsv(['=1+1', '+1', '-1', '@a', '\tx', '\rx', 'a=1', -1, null])).toBe(
      `'=1+1,'+1,'-1,'@a,'\tx,"'\rx",a=1,-1,\r\n`,
    )
  })
})

const withoutFormula = (cell: string): string => (cell.startsWith('\r') ? `'${cell}` : cell)
