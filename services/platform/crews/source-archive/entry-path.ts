import { AppError } from '../../../shared/errors.ts'

/** The longest path of a file within a project, and of one of its parts, in bytes. */
const PATH_BYTES_MAX = 500
const PART_BYTES_MAX = 255

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the path of an entry: relative and within the archive, without a `.//` before it or a `/`
 * after it. The empty text is the archive's own folder. Raises `invalid_request`.
 */
export function readEntryPath(bytes: Uint8Array): string {
  const text = decode(bytes)
  const problem = problemOf(text)
  if (problem === undefined) return text.replace(/^(\.\/+)+/, '').replace(/\/+$|^\.$/g, '')
  throw refuseEntry(text, problem)
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    const shown = Buffer.from(bytes).toString('latin1')
    throw refuseEntry(shown, 'is not in UTF-8. Rename it, or pack it where names are UTF-8')
  }
}

function problemOf(path: string): string | undefined {
  const parts = path.replace(/\/+$/, '').split('/')
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) {
    return 'is absolute. Pack the files with paths relative to their project'
  }
  if (parts.includes('..')) return 'leads out of its folder with "..". Pack the folder itself'
  if (path.includes('\\')) return 'has a backslash. Pack it with / between folders'
  if (/\p{Cc}/u.test(path)) return 'has a control character. Rename it'
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    return `has more than ${PATH_BYTES_MAX} bytes. Shorten it`
  }
  if (parts.some((part) => Buffer.byteLength(part) > PART_BYTES_MAX)) {
    return `has a part of more than ${PART_BYTES_MAX} bytes. Shorten it`
  }
  return undefined
}

/** Creates the error of an entry that is refused, by its path; `why` follows it. */
export const refuseEntry = (path: string, why: string): AppError =>
  new AppError('invalid_request', `The path ${show(path)} in the archive ${why}.`)

/** Returns a path as messages show it. */
export const show = (path: string): string =>
  JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path)

const FOLDERS = new Set([
  '.git',
  '.hg',
  '.svn',
  '.venv',
  'venv',
  '__pycache__',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
  '.tox',
  '.nox',
  '.idea',
  'node_modules',
  '__MACOSX',
])
const FILES = /^(\.DS_Store|\._.*|.*\.pyc|\.env|\.env\.(?!example$|sample$|template$).*)$/

/**
 * Returns true for what no source keeps: what is made from other files, what versions keep, and
 * files of secrets.
 */
export function isLeftOut(path: string): boolean {
  const parts = path.split('/')
  return parts.some((part) => FOLDERS.has(part)) || FILES.test(parts.at(-1) ?? '')
}
