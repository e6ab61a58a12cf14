import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32, gzipSync } from 'node:zlib'
import { BLOCK_BYTES, writeHeader } from '../tar/tar-header.ts'

const PATH_BYTES_MAX = 100

/** The system, of which zlib writes another one on each. */
const UNKNOWN_SYSTEM = 255

const VERSION_HERE = /^version = ".*"$/m

/** A Python package as its folder has it: pure Python below `src`, without dependencies. */
export interface PythonPackage {
  readonly name: string
  readonly requiresPython: string
  readonly summary: string
  readonly readme: string
  readonly scripts: readonly string[]
  readonly pyproject: string
  /** Those of `src`, without that folder. */
  readonly modules: readonly ArchivedFile[]
}

/** A file that installers take. */
export interface Distribution {
  readonly filename: string
  readonly content: Buffer
}

/** Reads the folder of a package, whose `pyproject.toml` has each value on a line of its own. */
export async function readPythonPackage(folder: URL): Promise<PythonPackage> {
  const directory = fileURLToPath(folder)
  const read = (name: string) => readFile(join(directory, name), 'utf8')
  const [pyproject, readme] = [await read('pyproject.toml'), await read('README.md')]
  const value = (name: string): string =>
    new RegExp(`^${name} = "(.*)"$`, 'm').exec(pyproject)?.[1] ?? ''
  const [, scripts = ''] = /^\[project\.scripts\]\n((?:.+\n)*)/m.exec(pyproject) ?? []
  return {
    name: value('name'),
    requiresPython: value('requires-python'),
    summary: value('description'),
    scripts: scripts.trim().replaceAll('"', '').split('\n'),
    readme,
    pyproject,
    modules: await readModules(join(directory, 'src')),
  }
}

async function readModules(source: string): Promise<ArchivedFile[]> {
  const names = await readdir(source, { recursive: true })
  const paths = names.filter((name) => name.endsWith('.py') || name.endsWith('py.typed')).toSorted()
  return Promise.all(
    paths.map(async (path) => ({ path, content: await readFile(join(source, path)) })),
  )
}

/** Makes the wheel and the source archive of a version: the same bytes on every machine. */
export function buildPythonPackage(made: PythonPackage, version: string): Distribution[] {
  const stem = `${made.name.replaceAll('-', '_')}-${version}`
  return [
    { filename: `${stem}-py3-none-any.whl`, content: zip(wheelFiles(made, version, stem)) },
    { filename: `${stem}.tar.gz`, content: tarGz(sourceFiles(made, version, stem)) },
  ]
}

function metadataOf(made: PythonPackage, version: string): string {
  return [
    'Metadata-Version: 2.1',
    `Name: ${made.name}`,
    `Version: ${version}`,
    `Summary: ${made.summary}`,
    `Requires-Python: ${made.requiresPython}`,
    'Description-Content-Type: text/markdown',
    '',
    made.readme,
  ].join('\n')
}

function wheelFiles(made: PythonPackage, version: string, stem: string): ArchivedFile[] {
  const info = `${stem}.dist-info`
  const wheel = [
    'Wheel-Version: 1.0',
    'Generator: crew-platform',
    'Root-Is-Purelib: true',
    'Tag: py3-none-any',
    '',
  ]
  const files = [
    ...made.modules,
    text(`${info}/METADATA`, metadataOf(made, version)),
    text(`${info}/WHEEL`, wheel.join('\n')),
    text(`${info}/entry_points.txt`, `[console_scripts]\n${made.scripts.join('\n')}\n`),
  ]
  const record = files.map(({ path, content }) => {
    const digest = createHash('sha256').update(content).digest('base64url')
    return `${path},sha256=${digest},${content.length}\n`
  })
  return [...files, text(`${info}/RECORD`, `${record.join('')}${info}/RECORD,,\n`)]
}

function sourceFiles(made: PythonPackage, version: string, stem: string): ArchivedFile[] {
  const pyproject = made.pyproject.replace(VERSION_HERE, `version = "${version}"`)
  return [
    text(`${stem}/PKG-INFO`, metadataOf(made, version)),
    text(`${stem}/README.md`, made.readme),
    text(`${stem}/pyproject.toml`, pyproject),
    ...made.modules.map(({ path, content }) => ({ path: `${stem}/src/${path}`, content })),
  ]
}

const text = (path: string, content: string): ArchivedFile => ({
  path,
  content: Buffer.from(content),
})

/** Makes a `.tar.gz` of files (POSIX ustar), whose paths have at most 100 bytes. */
function tarGz(files: readonly ArchivedFile[]): Buffer {
  const blocks = files.flatMap(({ path: text, content }) => {
    const path = Buffer.from(text)
    if (path.length > PATH_BYTES_MAX) throw new Error(`${text} is too long for a tar archive`)
    return [
      writeHeader({ path, type: '0', size: content.length, mode: 0o644 }),
      content,
      Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES),
    ]
  })
  // Stored as it is: what zlib makes of it would be another one with each version of Node.
  const archive = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 0 })
  archive[9] = UNKNOWN_SYSTEM
  return archive
}

/** A file of an archive. */
interface ArchivedFile {
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
