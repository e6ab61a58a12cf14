import * as v from 'valibot'
import { textUpTo } from '../../shared/schemas.ts'

/** The longest name of a file, in bytes of UTF-8, as file systems have it. */
const NAME_BYTES_MAX = 255
/** Names that Windows keeps for devices, whatever their extension. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i

/**
 * The file that a task writes: its name, which may hold `{input}` placeholders. Folders are no part
 * of it.
 */
export const outputFile = v.pipe(
  textUpTo(NAME_BYTES_MAX),
  v.check((name) => !/\p{Cc}/u.test(name), 'must not have control characters'),
  v.check(
    (name) => !name.split(/[/\\]/).includes('..'),
    'must not lead out of its folder: leave out the part ..',
  ),
  v.check((name) => safeName(name) !== '', 'must be a name, such as report.md'),
)

/**
 * Makes the name of a file safe on every system: no folders, no control or formatting characters,
 * no dots at its ends, at most 255 bytes with its extension. Empty when nothing is left.
 */
export function safeName(text: string): string {
  const flat = text
    .replace(/\p{C}/gu, '')
    .normalize('NFC')
    .replace(/[<>:"|?*]/g, '-')
    .split(/[/\\]/)
    .map((part) => part.replace(/^[\s.]+|[\s.]+$/g, ''))
    .filter((part) => part !== '')
    .join('-')
    .replace(/\s+/g, ' ')
  return fit(flat.replace(DEVICE, '_$1')).replace(/[\s.]+$/, '')
}

/** Adds a number before the extension, and keeps the name as short as it may be. */
export function numberedName(name: string, number: number): string {
  const suffix = `-${number}`
  const { stem, extension } = splitName(name)
  return `${cut(stem, NAME_BYTES_MAX - bytesOf(suffix + extension))}${suffix}${extension}`
}

const bytesOf = (text: string): number => Buffer.byteLength(text)

function fit(name: string): string {
  const { stem, extension } = splitName(name)
  return `${cut(stem, NAME_BYTES_MAX - bytesOf(extension))}${extension}`
}

function splitName(name: string): { stem: string; extension: string } {
  const [extension = ''] = /\.\w{1,16}$/.exec(name) ?? []
  return { stem: name.slice(0, name.length - extension.length), extension }
}

/** The longest beginning of at most so many bytes that ends with a whole character. */
export function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  return new TextDecoder().decode(bytes.subarray(0, bytesMax), { stream: true })
}

interface WritingTask {
  readonly key: string
  readonly output_file?: string | undefined
}

/** Returns the problems of tasks that would write the same file. */
export function outputFileProblems(tasks: readonly WritingTask[]): string[] {
  const writers = new Map<string, string>()
  return tasks.flatMap(({ key, output_file: file }) => {
    if (file === undefined) return []
    const name = safeName(file).toLowerCase()
    const other = writers.get(name)
    writers.set(name, key)
    return other === undefined
      ? []
      : [`the tasks ${other} and ${key} have the same output_file. Give each a name of its own.`]
  })
}
