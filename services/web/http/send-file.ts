import type { Context } from 'hono'

/** A file that others wrote, such as a crew. */
interface SentFile {
  readonly name: string
  readonly content: string | ReadableStream<Uint8Array>
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  jsonl: 'application/jsonl',
  md: 'text/markdown; charset=utf-8',
}

/** Returns the media type with which a file is sent. */
export function typeOfFile(name: string): string {
  const [, extension = ''] = /\.(\w+)$/.exec(name) ?? []
  return MEDIA_TYPES[extension.toLowerCase()] ?? 'text/plain; charset=utf-8'
}

/**
 * Sends a text that somebody else wrote as a file to save: no browser shows it as a page of ours,
 * guesses another type, or runs what is in it.
 */
export function sendFile(c: Context, { name, content }: SentFile): Response {
  return c.body(content, 200, {
    'content-type': typeOfFile(name),
    'content-disposition': attachment(name),
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
  })
}

/** RFC 6266: the name in ASCII, and as it is for those who read RFC 8187. */
function attachment(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${whole}`
}
