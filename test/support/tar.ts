import { gzipSync } from 'node:zlib'
import { writeHeader } from '../../services/shared/tar/tar-header.ts'

/** An entry of an archive, and what the archive says of it. */
export interface RawTarEntry {
  /** Bytes, where they are not to be UTF-8. */
  readonly path: string | Buffer
  /** @default '0', a file */
  readonly type?: string
  readonly content?: string | Buffer
  /** @default that of the content */
  readonly size?: number
  readonly mode?: number
}

/** Makes a tar archive, also one that no program would make. */
function tar(entries: readonly RawTarEntry[]): Buffer {
  const blocks = entries.map(({ path, type = '0', content = '', size, mode = 0o644 }) => {
    const bytes = Buffer.from(content)
    const header = { path: Buffer.from(path), type, size: size ?? bytes.length, mode }
    const padding = Buffer.alloc((512 - (bytes.length % 512)) % 512)
    return Buffer.concat([writeHeader(header), bytes, padding])
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

/** Makes a tar archive compressed. */
export const tarGz = (entries: readonly RawTarEntry[]): Buffer => gzipSync(tar(entries))
