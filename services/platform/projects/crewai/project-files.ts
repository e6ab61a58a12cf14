import { AppError } from '../../../shared/errors.ts'
import type { Report } from './report.ts'
import { findMistake, parseYaml } from './yaml-file.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'

/** The files of a project: their paths with `/`, and their bytes. */
export type ProjectFiles = ReadonlyMap<string, Uint8Array>

/** The most bytes of all files of a project. */
export const PROJECT_BYTES_MAX = 2 * 1024 * 1024
/** The most files of a project. */
export const PROJECT_FILES_MAX = 1000
/** The most bytes of a file that is read; a definition of more could not be stored. */
const FILE_BYTES_MAX = 256 * 1024

/**
 * Checks the path of a file of a project: relative, within the project, and without characters that
 * mean something to a file system. Raises `invalid_request`.
 */
export function checkPath(path: string): void {
  const steps = path.split('/')
  const isWrong =
    path.length > 300 ||
    /[\p{Cc}\\:]/u.test(path) ||
    steps.some((step) => step === '' || step === '.' || step === '..')
  if (!isWrong) return
  throw new AppError(
    'invalid_request',
    `The path ${JSON.stringify(path.slice(0, 100))} of a file must be relative, with / between ` +
      'its parts, without "..", ":" and "\\", and have at most 300 characters.',
  )
}

/** Checks how many files a project has, their paths and sizes. Raises `invalid_request`. */
export function checkFiles(files: ProjectFiles): void {
  let bytes = 0
  for (const [path, content] of files) {
    checkPath(path)
    bytes += content.byteLength
  }
  if (files.size === 0) throw new AppError('invalid_request', 'The project has no files.')
  if (files.size > PROJECT_FILES_MAX || bytes > PROJECT_BYTES_MAX) throw tooLarge()
}

/** Folders that hold no part of a definition, beside hidden ones. */
const SKIPPED = new Set(['node_modules', '__pycache__', '__MACOSX', 'dist', 'build', 'db'])
/** What an import reads or tells of; a log or a picture is neither. */
const READ = /(\.(jsonc?|ya?ml|py|toml|txt|md)|^\.env[^/]*)$/

/** Returns true for a folder, named without those above it, that may hold a part of a project. */
export const isProjectFolder = (name: string): boolean =>
  !name.startsWith('.') && !SKIPPED.has(name)

/** Returns true for the path of a file that may be a part of a project. */
export function isProjectFile(path: string): boolean {
  const [name = '', ...folders] = path.split('/').toReversed()
  return READ.test(name) && folders.every(isProjectFolder)
}

/** Creates the error of a project with too many files or bytes. */
export const tooLarge = (): AppError =>
  new AppError(
    'payload_too_large',
    `A project has at most ${PROJECT_FILES_MAX} files and ${PROJECT_BYTES_MAX} bytes. Leave out ` +
      'what is not its definition, such as .git, .venv and node_modules.',
  )

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a file of a project as text; undefined, and reported, when it cannot be. */
export function readProjectText(
  files: ProjectFiles,
  file: string,
  report: Report,
): string | undefined {
  const bytes = files.get(file)
  if (bytes === undefined) return undefined
  const place = { file, key: '' }
  if (bytes.byteLength > FILE_BYTES_MAX) {
    const size = `It has ${bytes.byteLength} bytes; at most ${FILE_BYTES_MAX} are read.`
    report.refuse(place, `The file is too large. ${size}`)
    return undefined
  }
  try {
    const text = utf8.decode(bytes)
    if (!text.includes('\0')) return text
    report.refuse(place, 'The file holds the character U+0000, so it is no text.')
  } catch {
    report.refuse(place, 'The file is not UTF-8. Save it in that encoding.')
  }
  return undefined
}

/** Reads a JSON, JSONC or YAML file; undefined, and reported, when it cannot be. */
export function readProjectValue(files: ProjectFiles, file: string, report: Report): unknown {
  const text = readProjectText(files, file, report)
  if (text === undefined) return undefined
  try {
    return /\.jsonc?$/.test(file) ? parseJsonc(text) : parseYaml(text)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    const member = thrown.details['duplicate_member']
    const which = typeof member === 'string' ? ` It is ${JSON.stringify(member.slice(0, 64))}.` : ''
    report.refuse({ file, key: '' }, `${thrown.message}${which}`)
    return undefined
  }
}

/** Returns the folder of a file with a / at its end; the empty text is the top. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)

/** Returns the paths of files with a name, those nearest to the top first. */
export const findFiles = (files: ProjectFiles, name: RegExp): string[] =>
  [...files.keys()]
    .filter((path) => name.test(path.slice(path.lastIndexOf('/') + 1)))
    .toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))

const depth = (path: string): number => path.split('/').length

/**
 * Parses JSON with comments and trailing commas. Raises `invalid_request` with the line of a
 * mistake, and what `parseStrictJson` raises.
 */
export function parseJsonc(text: string): unknown {
  const plain = replaceOutside(
    replaceOutside(text, /\/\/[^\r\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//y),
    /,(?=\s*[}\]])/y,
  )
  try {
    JSON.parse(plain)
  } catch {
    throw new AppError('invalid_request', describe(plain))
  }
  return parseStrictJson(Buffer.from(plain), 'The file')
}

const STRING = /"[^"\\]*(?:\\[^][^"\\]*)*"/y
const PLAIN = /[^"/,]+/y

/**
 * Replaces what an expression finds outside of strings by spaces, so that all else keeps its place.
 * Goes over the text once: behind a string or a comment that does not end, nothing is replaced.
 */
function replaceOutside(text: string, found: RegExp): string {
  const parts: string[] = []
  let at = 0
  while (at < text.length) {
    const end = endOf(PLAIN, text, at) ?? endOf(STRING, text, at)
    const to = end ?? endOf(found, text, at)
    const isOpen = text[at] === '"' || text.startsWith('/*', at)
    const next = to ?? (isOpen ? text.length : at + 1)
    const part = text.slice(at, next)
    parts.push(end === undefined && to !== undefined ? part.replace(/[^\r\n]/g, ' ') : part)
    at = next
  }
  return parts.join('')
}

function endOf(expression: RegExp, text: string, at: number): number | undefined {
  expression.lastIndex = at
  return expression.test(text) ? expression.lastIndex : undefined
}

/** The parser of JavaScript tells the place of some mistakes only. */
function describe(text: string): string {
  const found = findMistake(text)
  const where = found
    ? `look at line ${found.line}, column ${found.column}`
    : 'check quotes, commas'
  return `This is not valid JSON with comments: ${where}.`
}
