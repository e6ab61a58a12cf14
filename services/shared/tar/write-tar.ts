import { writePaxPath } from './pax.ts'
import { BLOCK_BYTES, writeHeader } from './tar-header.ts'

/** A file to write into a tar archive. */
export interface TarFile {
  readonly path: string
  readonly isExecutable: boolean
  /** The bytes that the content has. */
  readonly size: number
  readonly content: AsyncIterable<Uint8Array>
}

const NAME_BYTES_MAX = 100

/**
 * Writes files as a tar archive (POSIX pax) that is the same whoever makes it when: no times, no
 * owners, and no permissions but the one to execute. Raises when a content has another size.
 */
export async function* writeTar(files: AsyncIterable<TarFile>): AsyncGenerator<Uint8Array> {
  for await (const { path, isExecutable, size, content } of files) {
    const name = Buffer.from(path)
    const mode = isExecutable ? 0o755 : 0o644
    if (name.length > NAME_BYTES_MAX || name.some((byte) => byte > 0x7e)) {
      const block = writePaxPath(name)
      const head = { path: Buffer.from('pax'), type: 'x', size: block.length, mode: 0o644 }
      yield Buffer.concat([
        writeHeader(head),
        Buffer.concat([
          block,
          Buffer.alloc((BLOCK_BYTES - (block.length % BLOCK_BYTES)) % BLOCK_BYTES),
        ]),
      ])
    }
    yield writeHeader({ path: name.subarray(0, NAME_BYTES_MAX), type: '0', size, mode })
    let written = 0
    for await (const chunk of content) {
      written += chunk.byteLength
      if (written > size) break
      yield chunk
    }
    if (written !== size) throw new Error(`${path} changed while it was read; try again.`)
    if (size % BLOCK_BYTES > 0) yield Buffer.alloc(BLOCK_BYTES - (size % BLOCK_BYTES))
  }
  yield Buffer.alloc(2 * BLOCK_BYTES)
}
