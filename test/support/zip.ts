import { crc32, deflateRawSync } from 'node:zlib'

/** A file of an archive, and what the archive says of it. */
export interface ZipEntry {
  /** Bytes, where they are not to be UTF-8. */
  readonly name: string | Buffer
  readonly content: string | Buffer
  /** @default that of the content */
  readonly size?: number
  readonly isEncrypted?: boolean
  /** It is not compressed. */
  readonly isStored?: boolean
  /** The mode of UNIX, such as 0o120777 for a symbolic link. */
  readonly mode?: number
}

/** Makes a ZIP archive, also one that is wrong about itself. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { local, central } = toRecords(entry, offset)
    files.push(local)
    directory.push(central)
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, listed, end])
}

function toRecords(
  { name, content, size, isEncrypted = false, isStored = false, mode = 0o100644 }: ZipEntry,
  offset: number,
): { local: Buffer; central: Buffer } {
  const plain = Buffer.from(content)
  const packed = isStored ? plain : deflateRawSync(plain)
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt16LE(0x0800 | (isEncrypted ? 1 : 0), 2)
  common.writeUInt16LE(isStored ? 0 : 8, 4)
  common.writeUInt32LE(crc32(plain), 10)
  common.writeUInt32LE(packed.length, 14)
  common.writeUInt32LE(size ?? plain.length, 18)
  common.writeUInt16LE(Buffer.byteLength(name), 22)
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE((mode << 16) >>> 0, 6)
  rest.writeUInt32LE(offset, 10)
  const local = [Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), packed]
  const central = [Buffer.from('PK\u0001\u0002\u0014\u0003', 'latin1'), common, rest]
  return { local: Buffer.concat(local), central: Buffer.concat([...central, Buffer.from(name)]) }
}
