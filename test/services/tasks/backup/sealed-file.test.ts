import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import {
  createPassphrase,
  openFile,
  sealFile,
} from '../../../../services/tasks/backup/sealed-file.ts'
import { readFrames, writeFrame } from '../../../../services/tasks/backup/frames.ts'

const passphrase = createPassphrase('a passphrase of a test')
const PIECE = 256 * 1024
const HEADER = 57

async function* chunks(content: Buffer, size = 100_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function gather(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

const seal = (content: Buffer, size?: number) => gather(sealFile(chunks(content, size), passphrase))
const open = (sealed: Buffer, size?: number) =>
  gather(openFile(chunks(sealed, size), passphrase, 'the file'))

describe('a sealed file', () => {
  it('opens to what it was, whatever its size and in whatever chunks it comes', async () => {
    const sizes = fc.oneof(
      fc.integer({ min: 0, max: 300 }),
      fc.constantFrom(PIECE - 1, PIECE, PIECE + 1, 2 * PIECE),
    )
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 2 * PIECE }), async (size, chunk) => {
        const content = Buffer.alloc(size, 'content ')
        const step = Math.max(chunk, 1000)
        expect((await open(await seal(content, step), step)).equals(content)).toBe(true)
      }),
      { numRuns: 20 },
    )
  })

  it('does not open after any byte was changed, or any end was cut off', async () => {
    const sealed = await seal(Buffer.alloc(PIECE + 500, 'x'))
    const places = fc.oneof(
      fc.integer({ min: 0, max: sealed.length - 1 }),
      fc.constantFrom(0, 8, 9, HEADER - 1, HEADER, HEADER + PIECE + 15, HEADER + PIECE + 16),
    )
    await fc.assert(
      fc.asyncProperty(places, fc.boolean(), async (at, isCut) => {
        const damaged = Buffer.from(isCut ? sealed.subarray(0, at) : sealed)
        if (!isCut) damaged[at] = (damaged[at] ?? 0) ^ 1
        await expect(open(damaged)).rejects.toMatchObject({ code: 'invalid_request' })
      }),
      { numRuns: 25 },
    )
  })

  it('tells a changed piece, a missing end, a wrong passphrase, a foreign file', async () => {
    const sealed = await seal(Buffer.alloc(2 * PIECE + 5))
    const changed = Buffer.from(sealed)
    changed[HEADER + 5] = (changed[HEADER + 5] ?? 0) ^ 1
    await expect(open(changed)).rejects.toThrow('the file is damaged: bytes were changed or lost')
    const cut = sealed.subarray(0, HEADER + PIECE + 16)
    await expect(open(cut)).rejects.toThrow('the file is damaged, or its end is missing')
    const other = createPassphrase('another passphrase of a test')
    await expect(gather(openFile(chunks(sealed), other, 'the file'))).rejects.toThrow(
      'the file does not open with this passphrase',
    )
    await expect(open(Buffer.from('PGDMP, of another program'))).rejects.toThrow(
      'the file is no backup of this platform',
    )
  })

  it('does not open with pieces of another file, or in another order', async () => {
    const [one, other] = [await seal(Buffer.alloc(3 * PIECE)), await seal(Buffer.alloc(3 * PIECE))]
    const piece = PIECE + 16
    const at = (file: Buffer, number: number) =>
      file.subarray(HEADER + number * piece, HEADER + (number + 1) * piece)
    const head = one.subarray(0, HEADER)
    const mixed = Buffer.concat([head, at(one, 0), at(other, 1), at(one, 2)])
    const turned = Buffer.concat([head, at(one, 1), at(one, 0), at(one, 2)])
    for (const file of [mixed, turned]) await expect(open(file)).rejects.toThrow('is damaged')
  })
})

describe('the parts of a dump', () => {
  it('are read as they were written, however they are cut', async () => {
    const part = fc.oneof(
      fc.record({ kind: fc.constant('note' as const), note: fc.jsonValue() }),
      fc.record({
        kind: fc.constant('rows' as const),
        rows: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part), fc.integer({ min: 1, max: 50 }), async (parts, size) => {
        const bytes = Buffer.concat(parts.flatMap(writeFrame))
        const read = []
        for await (const frame of readFrames(chunks(bytes, size))) read.push(frame)
        expect(JSON.stringify(read)).toBe(JSON.stringify(parts))
      }),
      { numRuns: 50 },
    )
  })
})
