import { crc32 } from 'node:zlib'

/** A file of an archive. */
export interface ArchivedFile {
  readonly path: string
  readonly content: Buffer
}

/** 1980-01-01 in the format of MS-DOS: the same archive is made at any time. */
const DATE = 0x21
const VERSION = 20
const UTF8 = 0x800

/** Makes a ZIP archive of files, which are stored as they are (PKWARE APPNOTE 4.3). */
export function zip(files: readonly ArchivedFile[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { path, content } of files) {
    const name = Buffer.from(path)
    const facts = factsOf(name, content)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), facts, name, content])
    const place = Buffer.alloc(14)
    // A regular file that its owner may write.
    place.writeUInt32LE(0o100644 * 0x1_0000, 6)
    place.writeUInt32LE(offset, 10)
    const madeBy = Buffer.from([VERSION, 3])
    directory.push(Buffer.from('PK\u0001\u0002', 'latin1'), madeBy, facts, place, name)
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}

function factsOf(name: Buffer, content: Buffer): Buffer {
  const facts = Buffer.alloc(26)
  facts.writeUInt16LE(VERSION, 0)
  facts.writeUInt16LE(UTF8, 2)
  facts.writeUInt16LE(DATE, 8)
  facts.writeUInt32LE(crc32(content), 10)
  facts.writeUInt32LE(content.length, 14)
  facts.writeUInt32LE(content.length, 18)
  facts.writeUInt16LE(name.length, 22)
  return facts
}
