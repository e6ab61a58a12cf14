import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTar } from '../../../../services/shared/tar/write-tar.ts'
import { unpackSource } from '../../../../services/worker/deployments/process/build-crew.ts'

const { signal } = new AbortController()
let folder: string
let count = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unpack-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function tarOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([path, text]) => {
    const bytes = Buffer.from(text)
    return { path, isExecutable: false, size: bytes.length, content: Readable.from([bytes]) }
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of writeTar(Readable.from(entries))) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Unpacks what comes in many small pieces, and returns where it lies. */
async function unpack(archive: Buffer): Promise<string> {
  count += 1
  const to = join(folder, String(count))
  async function* pieces() {
    for (let at = 0; at < archive.length; at += 1000) yield archive.subarray(at, at + 1000)
  }
  await unpackSource({ archive: pieces(), to, signal })
  return to
}

describe('an archive of a source', () => {
  it('is unpacked, whatever follows its end', async () => {
    const tar = await tarOf({ 'a.py': 'a = 1', 'deep/er/b.py': 'b = 2' })
    // Zeros of which there are more than a stream takes at once.
    const padded = gzipSync(Buffer.concat([tar, Buffer.alloc(8 * 1024 * 1024)]), { level: 0 })
    for (const archive of [gzipSync(tar), padded]) {
      const to = await unpack(archive)
      expect(await readFile(join(to, 'a.py'), 'utf8')).toBe('a = 1')
      expect(await readFile(join(to, 'deep/er/b.py'), 'utf8')).toBe('b = 2')
    }
  })

  it('is refused when it leads out of its folder, or is damaged', async () => {
    for (const path of ['../out.py', '/out.py', 'deep/../../out.py']) {
      const archive = gzipSync(await tarOf({ [path]: '' }))
      await expect(unpack(archive), path).rejects.toThrow('a path that leads out of it')
    }
    const whole = gzipSync(await tarOf({ 'a.py': 'a = 1' }))
    await expect(unpack(whole.subarray(0, -20))).rejects.toThrow()
    await expect(unpack(Buffer.from('no archive'))).rejects.toThrow('incorrect header check')
  })
})
