import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

export interface Wheel {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly content: Buffer
}

/** A wheel that pip installs: one module, and the three files of metadata. */
export function makeWheel(name: string, version: string, requiresPython?: string): Wheel {
  const stem = `${name.replace(/[-.]/g, '_')}-${version}`
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${version}`,
    'Summary: For tests.',
    ...(requiresPython ? [`Requires-Python: ${requiresPython}`] : []),
    '',
  ]
  const entries: [string, string][] = [
    [`${name.replace(/[-.]/g, '_')}.py`, `VERSION = '${version}'\n`],
    [`${stem}.dist-info/METADATA`, metadata.join('\n')],
    [
      `${stem}.dist-info/WHEEL`,
      'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ],
  ]
  const record = entries.map(([path, text]) => {
    const digest = createHash('sha256').update(text).digest('base64url')
    return `${path},sha256=${digest},${Buffer.byteLength(text)}\n`
  })
  const recordPath = `${stem}.dist-info/RECORD`
  entries.push([recordPath, `${record.join('')}${recordPath},,\n`])
  return { name, version, filename: `${stem}-py3-none-any.whl`, content: zip(entries) }
}

/** An archive of files that are stored as they are (PKWARE APPNOTE 4.3). */
function zip(entries: readonly (readonly [path: string, text: string])[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [path, text] of entries) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)]
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(0x21, 8)
    facts.writeUInt32LE(crc32(data), 10)
    facts.writeUInt32LE(data.length, 14)
    facts.writeUInt32LE(data.length, 18)
    facts.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), facts, name, data])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\u0001\u0002\u0014\0', 'latin1'), facts, place, name)
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}

/** What twine sends for a wheel; `change` replaces fields, and removes those that are undefined. */
export function uploadForm(
  wheel: Wheel,
  change: Record<string, string | undefined> = {},
  filename = wheel.filename,
): FormData {
  const fields: Record<string, string | undefined> = {
    ':action': 'file_upload',
    protocol_version: '1',
    name: wheel.name,
    version: wheel.version,
    filetype: 'bdist_wheel',
    pyversion: 'py3',
    metadata_version: '2.1',
    description: 'long '.repeat(20_000),
    sha256_digest: createHash('sha256').update(wheel.content).digest('hex'),
    ...change,
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) form.append(name, value)
  form.append('content', new Blob([Uint8Array.from(wheel.content)]), filename)
  return form
}
