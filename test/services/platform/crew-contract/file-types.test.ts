import { describe, expect, it } from 'vitest'
import { detectType } from '../../../../services/platform/crew-contract/file-types.ts'

const bytes = (...parts: (string | number[])[]): Uint8Array[] =>
  parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part)))
const typeOf = (name: string, declared: string, ...parts: (string | number[])[]) =>
  detectType({ name, declared, chunks: bytes(...parts) })

describe('the media type of a file', () => {
  it.each<[string, string, (string | number[])[], string]>([
    ['a.csv', '', ['a;b'], 'text/csv'],
    ['a.JSON', 'application/octet-stream', ['{}'], 'application/json'],
    ['a', 'Text/CSV; charset=utf-8', ['a;b'], 'text/csv'],
    ['a.bin', '', ['plain'], 'text/plain'],
    ['a.constructor', '', ['plain'], 'text/plain'],
    ['a.svg', 'image/svg+xml', ['<svg/>'], 'text/plain'],
    ['a.txt', '', ['Gr', [0xc3], [0xbc], 'n'], 'text/plain'],
    ['a.txt', '', [[0xef, 0xbb, 0xbf], 'BOM'], 'text/plain'],
    ['a.txt', 'text/plain', [[0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]], 'image/png'],
    ['photo', '', [[0xff, 0xd8, 0xff, 0xe0, 0]], 'image/jpeg'],
    ['a.gif', '', ['GIF89a', [0]], 'image/gif'],
    ['a.txt', 'text/plain', ['%PDF-1.7\nall in ASCII'], 'application/pdf'],
    ['a.docx', '', ['%PDF-1.7\n', [0xe2, 0xe3]], 'application/pdf'],
    ['a.webp', '', [[82, 73, 70, 70, 1, 2, 3, 4, 87, 69, 66, 80]], 'image/webp'],
  ])('of %j, declared as %j, is read from its content', (...[name, declared, parts, type]) => {
    expect(typeOf(name, declared, ...parts)).toBe(type)
  })

  it.each<[string, string, (string | number[])[]]>([
    ['a ZIP', 'application/zip', ['PK', [3, 4, 0, 0]]],
    ['a text in Latin-1', 'text/csv', ['Gr', [0xfc], 'n']],
    ['a text in UTF-16', 'text/plain', [[0xff, 0xfe, 0x41, 0]]],
    ['a text with a NUL', 'text/plain', ['a', [0], 'b']],
    ['a text that is cut in a character', 'text/plain', ['Gr', [0xc3]]],
    ['a broken image', 'image/png', [[0x89, 0x50, 0x4e]]],
  ])('of %s is none that agents work with', (_, declared, parts) => {
    expect(typeOf('a', declared, ...parts)).toBeUndefined()
  })
})
