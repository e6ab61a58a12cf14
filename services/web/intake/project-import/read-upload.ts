import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import {
  PROJECT_BYTES_MAX,
  PROJECT_FILES_MAX,
  checkPath,
  isProjectFile,
} from '../../../platform/projects/crewai/project-files.ts'
import type { ProjectFiles } from '../../../platform/projects/crewai/project-files.ts'
import { AppError } from '../../../shared/errors.ts'
import { readBody } from '../../../shared/http/request-body.ts'
import { isZip, otherArchive, readZip } from './archive.ts'

/** The files of a project, and the other fields of the form that they came in. */
interface ProjectUpload {
  readonly files: ProjectFiles
  readonly fields: ReadonlyMap<string, string>
}

/** Beside the files there are the heads of their parts. */
const BODY_BYTES_MAX = PROJECT_BYTES_MAX + 512 * 1024
const LIMITS = {
  fields: 20,
  files: 4 * PROJECT_FILES_MAX,
  parts: 4 * PROJECT_FILES_MAX + 20,
  fieldNameSize: 100,
  fieldSize: 4096,
  headerPairs: 20,
  headerSize: 8192,
}

type NamedFile = readonly [path: string, content: Buffer]

/**
 * Reads a project that was sent as a multipart form: one ZIP archive, or files with their paths.
 * Raises `invalid_request` and `payload_too_large`.
 */
export async function readUpload(request: Request): Promise<ProjectUpload> {
  const body = await readBody(request, BODY_BYTES_MAX)
  const { named, fields } = await parseForm(request, body)
  return { files: await toFiles(named), fields }
}

/** Reads a project that was sent as a ZIP archive. Raises as `readZip` does. */
export const readArchive = async (request: Request): Promise<ProjectFiles> =>
  toFiles([['project.zip', await readBody(request, PROJECT_BYTES_MAX)]])

async function parseForm(
  request: Request,
  body: Buffer,
): Promise<{ named: NamedFile[]; fields: Map<string, string> }> {
  const named: NamedFile[] = []
  const fields = new Map<string, string>()
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    const parser = new Busboy({ headers, limits: LIMITS, preservePath: true })
    parser.on('field', (name, value) => void fields.set(name, value))
    parser.on('file', (_, content, filename) => {
      const chunks: Buffer[] = []
      content.on('data', (chunk: Buffer) => void chunks.push(chunk))
      content.on('end', () => void named.push([filename, Buffer.concat(chunks)]))
      // A form that is cut off is told by the parser.
      content.on('error', () => {})
    })
    await pipeline(Readable.from([body]), parser)
  } catch {
    throw unreadable('it is cut off or damaged, or its Content-Type names no boundary')
  }
  return { named, fields }
}

async function toFiles(named: readonly NamedFile[]): Promise<ProjectFiles> {
  const chosen = named.filter(([path, content]) => path !== '' || content.byteLength > 0)
  const [first, second] = chosen
  if (!first) throw unreadable('it has no files')
  if (!second && isZip(first[1])) return readZip(first[1])
  const files = new Map<string, Uint8Array>()
  for (const [path, content] of chosen) {
    checkPath(path)
    const other = otherArchive(content)
    if (other !== undefined) throw unreadable(`${show(path)} is a ${other} archive: send a ZIP one`)
    if (isZip(content)) throw unreadable('a ZIP archive is sent alone')
    if (files.has(path)) throw unreadable(`it has ${show(path)} twice`)
    if (isProjectFile(path)) files.set(path, content)
  }
  if (files.size === 0) throw unreadable(`${show(first[0])} is neither a ZIP archive nor a project`)
  return files
}

const show = (path: string): string => JSON.stringify(path.slice(0, 100))

const unreadable = (why: string): AppError =>
  new AppError('invalid_request', `The project cannot be read: ${why}.`)
