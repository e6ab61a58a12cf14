import { detectDocument, DOCUMENTS } from '../../shared/documents/document-types.ts'

/** A file that somebody sent, in pieces. */
export interface SentContent {
  readonly name: string
  /** The media type that its sender names; empty: none. */
  readonly declared: string
  readonly chunks: readonly Uint8Array[]
}

/** The files that agents can work with, in words. */
export const WORKING_FILES =
  'text in UTF-8 (such as TXT, Markdown, CSV, JSON, XML, YAML and HTML), documents ' +
  `(${DOCUMENTS}) and images (PNG, JPEG, GIF, WebP)`

const IMAGES: readonly (readonly [type: string, beginning: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
]
const TEXT_TYPE = /^(text\/[\w.+-]+|application\/([\w.-]+\+)?(json|x-ndjson|xml|yaml|x-yaml|sql))$/
const TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  md: 'text/markdown',
  ndjson: 'application/x-ndjson',
  tsv: 'text/tab-separated-values',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}

/** Returns true for a file whose text an agent reads. */
export const isTextType = (mediaType: string): boolean => TEXT_TYPE.test(mediaType)

/** Returns true for an image that is shown to a model. */
export const isImageType = (mediaType: string): boolean =>
  IMAGES.some(([type]) => type === mediaType)

/**
 * Returns the media type of a file by what is in it; undefined for one that no agent can work with.
 * Of a text, the type is that which its sender or its name says.
 */
export function detectType({ name, declared, chunks }: SentContent): string | undefined {
  const beginning = Buffer.from(chunks[0]?.subarray(0, 16) ?? []).toString('latin1')
  const image = IMAGES.find(([, bytes]) => bytes.test(beginning))
  if (image) return image[0]
  const document = detectDocument(Buffer.concat(chunks))
  if (document) return 'mediaType' in document ? document.mediaType : undefined
  return isText(chunks) ? textType(name, declared) : undefined
}

function textType(name: string, declared: string): string {
  const [said = ''] = declared.toLowerCase().split(';')
  if (isTextType(said.trim())) return said.trim()
  const [, extension = ''] = /\.(\w+)$/.exec(name.toLowerCase()) ?? []
  return (Object.hasOwn(TYPES_BY_EXTENSION, extension) && TYPES_BY_EXTENSION[extension]) || PLAIN
}

/** Returns why no agent can work with a file of which `detectType` returns nothing. */
export function typeProblem({ name, chunks }: SentContent): string {
  const document = detectDocument(Buffer.concat(chunks))
  const why = document && 'problem' in document ? `${document.problem}` : 'cannot be used'
  return `The file ${name} ${why}. Agents work with ${WORKING_FILES}.`
}

const PLAIN = 'text/plain'

function isText(chunks: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (const chunk of chunks) {
      if (chunk.includes(0)) return false
      decoder.decode(chunk, { stream: true })
    }
    decoder.decode()
    return true
  } catch {
    return false
  }
}
