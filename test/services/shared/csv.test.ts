import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvRow, readCsv } from '../../../services/shared/csv.ts'

const read = (text: string): readonly (readonly string[])[] =>
  [...readCsv(text)].map(({ cells }) => cells)

describe('CSV', () => {
  it('is read as it was written, whatever the cells are', () => {
    const cell = fc.string({
      unit: fc.constantFrom(...('=+-@\t\r\n,"\' aé😀'.match(/./gsu) ?? [])),
      maxLength: 8,
    })
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 })), (rows) => {
        expect(read(rows.map(csvRow).join(''))).toEqual(rows)
      }),
    )
  })

  it('has no cell that a spreadsheet takes for a formula', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(csvRow([text])).not.toMatch(/^"?[=+\-@\t]/)
      }),
    )
    expect(csvRow(['=HYPERLINK("https://x")', -1])).toBe('"\'=HYPERLINK(""https://x"")",-1\r\n')
  })

  it('is read with all ends of lines, and the number of each line', () => {
    expect([...readCsv('a,b\n\r\n"c\nd",\re')]).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 3, cells: ['c\nd', ''] },
      { line: 5, cells: ['e'] },
    ])
  })

  it.each([
    ['a,"b', 'Line 1 of the CSV has a quotation mark'],
    ['a\nb"c"', 'Line 2 of the CSV has a quotation mark'],
    ['"a"b', 'Line 1 of the CSV has a quotation mark'],
    [','.repeat(200), 'Line 1 of the CSV has more than 200 cells'],
    ['x'.repeat(262_145), 'has a cell of more than 262144 characters'],
  ])('is refused where it is broken: %.20s', (text, why) => {
    expect(() => read(text)).toThrow(why)
  })
})
