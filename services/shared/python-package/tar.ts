import { gzipSync } from 'node:zlib'
import type { ArchivedFile } from './zip.ts'

const BLOCK = 512
/** The system, of which zlib writes another one on each. */
const UNKNOWN_SYSTEM = 255

/** Makes a `.tar.gz` of files (POSIX ustar), whose paths have at most 100 bytes. */
export function tarGz(files: readonly ArchivedFile[]): Buffer {
  const blocks = files.flatMap(({ path, content }) => [
    headerOf(path, content.length),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ])
  // Stored as it is: what zlib makes of it would be another one with each version of Node.
  const archive = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 0 })
  archive[9] = UNKNOWN_SYSTEM
  return archive
}

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for a tar archive`)
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')
  header.write(path, 0)
  header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100)
  header.write(`${octal(size, 11)}\0${octal(0, 11)}\0`, 124)
  header.write('        0', 148)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return header
}
