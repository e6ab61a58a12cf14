import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readExpression } from '../../../../../services/collector/otlp/redaction/expression.ts'
import { readOwnExpressions } from '../../../../../services/collector/otlp/redaction/redaction.ts'
import { createRedaction } from '../../../../../services/collector/otlp/redaction/redaction.ts'
import { createRedactor } from './redact.ts'

const directory = mkdtempSync(join(tmpdir(), 'redaction-'))
afterAll(() => rmSync(directory, { recursive: true }))

function fileOf(...lines: readonly string[]): string {
  const file = join(directory, 'expressions')
  writeFileSync(file, lines.join('\n'))
  return file
}

const own = (...lines: readonly string[]): ((text: string) => string) =>
  createRedactor({ redact: ['custom'], file: fileOf(...lines) })

describe('own expressions', () => {
  it('are replaced by marks with their names', () => {
    const redact = own(
      '# What our systems issue.',
      '',
      'employee: EMP-\\d{6}',
      'ssn: \\d{3}-\\d{2}-\\d{4}',
      'session: sess=[^;\\s]+',
      'pair: ID:[a-z]+/[0-9]{2,}!',
      'note: Ähm[.]{2}',
    )
    expect(redact('EMP-123456, EMP-12345x')).toBe('[redacted:employee], EMP-12345x')
    expect(redact('123-45-6789 1123-45-6789')).toBe('[redacted:ssn] 1123-45-6789')
    expect(redact('a; sess=abc.def; b')).toBe('a; [redacted:session]; b')
    expect(redact('ID:abc/12! ID:abc/1! ID:/12!')).toBe('[redacted:pair] ID:abc/1! ID:/12!')
    expect(redact('Ähm.. Ähm.')).toBe('[redacted:note] Ähm.')
  })

  it('match as a regular expression does, wherever they may begin', () => {
    const sources = ['abc[a-c]+x', 'ab[ab]{0,3}c', 'aaa*b', 'a{3}b?c', 'bca+b+c']
    for (const source of sources) {
      const redact = own(`x1: .${source}`)
      const expected = new RegExp(`[^\\n]${source}`, 'g')
      for (let seed = 0; seed < 400; seed++) {
        const text = Array.from(
          { length: 24 },
          (_, i) => 'abcx'[(seed * 7919 + i * i * 31 + (seed >> (i % 9))) & 3],
        ).join('')
        expect(redact(text), text).toBe(text.replaceAll(expected, '[redacted:x1]'))
      }
    }
  })

  it.each([
    ['(a|b)cd', 'group or alternatives'],
    ['abc|def', 'group or alternatives'],
    ['abc(d+)+', 'group or alternatives'],
    ['abc[a-z]+[a-z0-9]+', 'takes too long'],
    ['abc.*d', 'takes too long'],
    ['abcd*e?d', 'takes too long'],
    ['abc.*?', 'two signs'],
    ['^abc', 'anchors'],
    ['ab', 'must begin with 3'],
    ['ab?cd', 'must begin with 3'],
    ['...x', 'must begin with 3'],
    ['abc{2,1}', 'in order'],
    ['abc{999}', 'at most 256'],
    ['abc[', 'without its ]'],
    ['abc[]', 'empty class'],
    ['abc[é]', 'outside ASCII'],
    ['abc[z-a]', 'upwards'],
    ['abc\\b', 'not taken'],
    ['*abc', 'nothing to repeat'],
    ['a'.repeat(257), '1 to 256 characters'],
    ['', '1 to 256 characters'],
  ])('that are %s are refused: %s', (expression, problem) => {
    expect(() => readExpression(expression)).toThrow(problem)
  })

  it('are refused by their lines, without saying what they are', () => {
    const file = fileOf('fine: abcd', 'card: abcd', 'secret-word', 'bad: hunter2.*x')
    const read = () => readOwnExpressions(file)
    expect(read).toThrow(/line 2 .*card[\s\S]*line 3 must be a name[\s\S]*line 4 repeats/)
    expect(read).not.toThrow(/hunter2/)
    expect(() => readOwnExpressions(fileOf(...Array(33).fill('a: abcd')))).toThrow('more than 32')
    expect(() => readOwnExpressions(join(directory, 'none'))).toThrow('cannot be read')
    expect(() => createRedaction({ redact: ['custom'] })).toThrow('COLLECTOR_REDACT_FILE')
    expect(() => createRedaction({ redact: ['cards'], file })).toThrow('COLLECTOR_REDACT_FILE')
  })
})

describe('marks with a key', () => {
  it('are equal for equal values, however they are written', () => {
    const hashed = (hashKey: string) => createRedactor({ redact: ['cards', 'emails'], hashKey })
    const redact = hashed('k'.repeat(32))
    const mark = redact('Ann@Example.com')
    expect(mark).toMatch(/^\[redacted:email:[0-9a-f]{6}\]$/)
    expect(redact('ann%40example.com')).toBe(mark)
    expect(redact('bob@example.com')).not.toBe(mark)
    expect(hashed('l'.repeat(32))('ann@example.com')).not.toBe(mark)
    expect(redact('4111 1111 1111 1111')).toBe(redact('4111111111111111'))
  })
})
