import { damagedTar } from './damaged-tar.ts'
import { readPax } from './pax.ts'
import { BLOCK_BYTES, readHeader } from './tar-header.ts'
import type { TarHeader } from './tar-header.ts'

/** The longest block of names and attributes before an entry, in bytes. */
const EXTENSION_BYTES_MAX = 64 * 1024
/** The most such blocks before one entry. */
const EXTENSIONS_MAX = 8

/** One entry of a tar archive. */
export interface TarEntry {
  /** As the archive has it; perhaps not UTF-8. */
  readonly path: Buffer
  readonly kind: EntryKind
  /** In bytes. */
  readonly size: number
  /** The permissions, such as 0o644. */
  readonly mode: number
  /** Reads the content, at most once, and before the next entry is asked for. */
  readonly content: () => AsyncGenerator<Buffer>
}

/** What an entry is. */
export type EntryKind = (typeof KINDS)[keyof typeof KINDS] | 'unknown'

const KINDS = {
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hard link',
  '2': 'symbolic link',
  '3': 'device',
  '4': 'device',
  '5': 'folder',
  '6': 'pipe',
  S: 'sparse file',
} as const

/**
 * Reads a tar archive (ustar, pax or GNU) entry by entry, without holding it in memory. What is not
 * read of an entry is skipped. Raises `invalid_request` for one that is damaged or cut off.
 */
export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = createByteSource(bytes)
  try {
    for (;;) {
      const found = await nextHeader(source)
      if (!found) return
      const reading = source.limited(found.size)
      yield { ...found, content: () => reading.read() }
      await reading.skip()
      await source.skip(padding(found.size))
    }
  } finally {
    await source.close()
  }
}

const padding = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES

type Head = Omit<TarEntry, 'content'>

/** What is said before an entry takes the place of what its header says. */
interface Extension {
  path?: Buffer
  size?: number
}

async function nextHeader(source: ByteSource): Promise<Head | undefined> {
  const said: Extension = {}
  for (let extensions = 0; extensions <= EXTENSIONS_MAX; extensions += 1) {
    const block = await source.take(BLOCK_BYTES)
    // The end is two empty blocks; some writers leave them out.
    if (!block || block.every((byte) => byte === 0)) return undefined
    const header = readHeader(block)
    if (!(await readExtension(source, header, said))) return toHead(header, said)
  }
  throw damagedTar('an entry has too many headers')
}

/** Reads names and attributes of the next entry; false for the entry itself. */
async function readExtension(
  source: ByteSource,
  { type, size }: TarHeader,
  said: Extension,
): Promise<boolean> {
  if (!'xgLK'.includes(type)) return false
  if (size > EXTENSION_BYTES_MAX) throw damagedTar('the name of an entry is too long')
  const content = await source.take(size)
  if (!content && size > 0) throw damagedTar('it is cut off')
  await source.skip(padding(size))
  if (type === 'L') said.path = untilNul(content ?? Buffer.alloc(0))
  if (type === 'x') Object.assign(said, readPax(content ?? Buffer.alloc(0)))
  return true
}

function toHead(header: TarHeader, said: Extension): Head {
  const { type, mode } = header
  const path = said.path ?? header.path
  const kind = kindOf(type)
  const isFolder = kind === 'file' && path.at(-1) === SLASH
  const size = said.size ?? header.size
  // Links and folders have no content, whatever their size says.
  const hasContent = kind === 'file' || kind === 'sparse file' || kind === 'unknown'
  return { path, kind: isFolder ? 'folder' : kind, size: hasContent ? size : 0, mode }
}

const SLASH = 0x2f

const isKind = (type: string): type is keyof typeof KINDS => Object.hasOwn(KINDS, type)

const kindOf = (type: string): EntryKind => (isKind(type) ? KINDS[type] : 'unknown')

const untilNul = (bytes: Buffer): Buffer => {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** Reads a stream of bytes in portions of any size. */
interface ByteSource {
  /** The next bytes; undefined at the end of the stream. Raises when it ends within them. */
  take(size: number): Promise<Buffer | undefined>
  skip(size: number): Promise<void>
  /** The next bytes, as they come, once; `skip` drops those that nobody has read. */
  limited(size: number): { read(): AsyncGenerator<Buffer>; skip(): Promise<void> }
  close(): Promise<void>
}

/** Creates a reader of a stream; each piece of it is at most as large as the stream's own. */
function createByteSource(bytes: AsyncIterable<Uint8Array>): ByteSource {
  const chunks = bytes[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** Up to so many bytes; none at the end. */
  async function next(size: number): Promise<Buffer> {
    while (rest.length === 0) {
      const { done, value } = await chunks.next()
      if (done) return rest
      rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    const piece = rest.subarray(0, size)
    rest = rest.subarray(piece.length)
    return piece
  }

  /** So many bytes, once, however many of them are read at a time. */
  function limited(size: number) {
    let left = size
    async function* read(): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await next(left)
        if (piece.length === 0) throw damagedTar('it is cut off')
        left -= piece.length
        yield piece
      }
    }
    async function skip(): Promise<void> {
      for await (const _ of read());
    }
    return { read, skip }
  }

  return {
    limited,
    skip: (size) => limited(size).skip(),
    async take(size) {
      if (size === 0) return Buffer.alloc(0)
      const first = await next(size)
      if (first.length === 0) return undefined
      const pieces = [first]
      for await (const piece of limited(size - first.length).read()) pieces.push(piece)
      return pieces.length === 1 ? first : Buffer.concat(pieces)
    },
    async close() {
      await chunks.return?.()
    },
  }
}
