import { createHash } from 'node:crypto'
import { AppError } from '../../../shared/errors.ts'
import type { SourceDescription } from '../sources.ts'
import { isLeftOut, readEntryPath, refuseEntry, show } from './entry-path.ts'
import {
  ENTRIES_MAX,
  SOURCE_FILES_MAX,
  UNPACKED_BYTES_MAX,
  tooManyBytes,
  tooManyFiles,
} from './limits.ts'
import type { ArchiveEntry, OpenArchive } from './archive-entry.ts'
import { createProjectReader } from './project-kind.ts'
import type { ProjectReader } from './project-kind.ts'

const LEFT_OUT_SHOWN = 20

/** How an archive is to be read. */
export interface InspectOptions {
  /** The folder of the project in it; by default the top, or the only folder there. */
  readonly directory?: string | null | undefined
  /** `module:function`, where the project need not say what is run. */
  readonly entrypoint?: string | null | undefined
}

interface ProjectFile {
  readonly size: number
  readonly isExecutable: boolean
  readonly sha256: string
}

/** The project that an archive holds. */
export interface Inspection extends SourceDescription {
  /** The folder of the project with a / at its end; the empty text is the top. */
  readonly root: string
  /** By their paths in the archive. */
  readonly files: ReadonlyMap<string, ProjectFile>
}

/**
 * Reads all of an archive once, and refuses what cannot be kept or run, in words that say what to
 * do: links, paths that lead elsewhere, too many files or bytes, and projects without a crew or
 * without a list of what they need. Raises `invalid_request`, `payload_too_large` and
 * `unprocessable`.
 */
export async function inspectArchive(
  archive: OpenArchive,
  { directory, entrypoint }: InspectOptions = {},
): Promise<Inspection> {
  const project = createProjectReader()
  const { files, leftOut } = await readFiles(archive, project)
  const root = directory ? rootAt(files, directory) : findRoot(files)
  const kept = new Map([...files].filter(([path]) => path.startsWith(root)))
  const facts = {
    ...project.describe({ root, paths: [...kept.keys()], entrypoint: entrypoint ?? null }),
    ...factsOf(leftOut),
  }
  return {
    root,
    files: kept,
    digest: digestOf(kept, root),
    unpackedSize: [...kept.values()].reduce((sum, { size }) => sum + size, 0),
    fileCount: kept.size,
    facts,
  }
}

function factsOf(leftOut: readonly string[]) {
  if (leftOut.length === 0) return {}
  const shown = leftOut.slice(0, LEFT_OUT_SHOWN)
  return { leftOut: shown, leftOutMore: leftOut.length - shown.length }
}

async function readFiles(archive: OpenArchive, project: ProjectReader) {
  const files = new Map<string, ProjectFile>()
  const folders = new Set<string>()
  const leftOut = new Set<string>()
  let entries = 0
  let room = UNPACKED_BYTES_MAX
  for await (const entry of archive.entries()) {
    entries += 1
    if (entries > ENTRIES_MAX) throw tooManyFiles()
    const path = readEntryPath(entry.path)
    if (path === '') continue
    if (isLeftOut(path)) {
      leftOut.add(topOfLeftOut(entry.kind === 'folder' ? `${path}/` : path))
      continue
    }
    checkKind(entry, path)
    if (entry.kind === 'folder') continue
    if (files.has(path)) throw refuseEntry(path, 'is there twice')
    if (files.size === SOURCE_FILES_MAX) throw tooManyFiles()
    const file = await readFile(entry, { path, room, project })
    room -= file.size
    files.set(path, file)
    for (const folder of foldersOf(path)) folders.add(folder)
  }
  const both = [...files.keys()].find((path) => folders.has(path))
  if (both !== undefined) throw refuseEntry(both, 'is both a file and a folder')
  if (files.size === 0) throw new AppError('invalid_request', 'The archive has no files.')
  return { files, leftOut: [...leftOut].toSorted() }
}

function checkKind({ kind }: ArchiveEntry, path: string): void {
  if (kind === 'file' || kind === 'folder') return
  if (kind === 'symbolic link' || kind === 'hard link') {
    throw refuseEntry(path, `is a ${kind}. Put the file itself in its place`)
  }
  const what = kind === 'unknown' ? 'of an unknown kind' : `a ${kind}`
  throw refuseEntry(path, `is ${what}. A source has plain files and folders only`)
}

interface Reading {
  readonly path: string
  /** The bytes that the files may still have. */
  readonly room: number
  readonly project: ProjectReader
}

/** What an archive says of its sizes is not believed: they are counted. */
async function readFile(
  { size: said, isExecutable, content }: ArchiveEntry,
  { path, room, project }: Reading,
): Promise<ProjectFile> {
  if (said > room) throw tooManyBytes()
  const hash = createHash('sha256')
  const isRead = project.wants(path, said)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of content()) {
    size += chunk.length
    if (size > room) throw tooManyBytes()
    hash.update(chunk)
    if (isRead) chunks.push(chunk)
  }
  if (isRead) project.read(path, Buffer.concat(chunks))
  return { size, isExecutable, sha256: hash.digest('hex') }
}

function* foldersOf(path: string): Generator<string> {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) yield path.slice(0, at)
}

/** The folder or the file for which an entry is left out. */
function topOfLeftOut(path: string): string {
  for (const folder of foldersOf(path)) if (isLeftOut(folder)) return `${folder}/`
  return path
}

type Files = ReadonlyMap<string, ProjectFile>

function rootAt(files: Files, directory: string): string {
  const root = `${directory.replace(/^(\.\/)+|\/+$/g, '')}/`
  if ([...files.keys()].some((path) => path.startsWith(root))) return root
  throw new AppError('unprocessable', `The source has no folder ${show(directory)}.`)
}

/** Archives often have one folder at their top, which is the project. */
function findRoot(files: Files): string {
  const [first = ''] = files.keys()
  const root = first.slice(0, first.indexOf('/') + 1)
  return [...files.keys()].every((path) => path.startsWith(root)) ? root : ''
}

/** Neither the order of the files nor the folder around them is part of a source. */
function digestOf(files: Files, root: string): Buffer {
  const lines = [...files]
    .map(([path, { size, isExecutable, sha256 }]) =>
      [path.slice(root.length), isExecutable ? 'x' : '-', size, sha256].join('\0'),
    )
    .toSorted()
  return createHash('sha256').update(lines.join('\n')).digest()
}
