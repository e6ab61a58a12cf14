import { detectDocument, DOCUMENTS } from '../../shared/documents/document-types.ts'
import type { ReadDocuments } from '../../shared/documents/read-document.ts'
import { AppError } from '../../shared/errors.ts'
import { toolError } from './tool.ts'

const NAME_MAX = 100

/** What a server has answered with that is no text. */
interface AnsweredDocument {
  readonly name: string
  /** As the server says. */
  readonly mediaType: string
  readonly bytes: Buffer
  /** Its end was not read. */
  readonly isCut?: boolean
}

/**
 * Returns the text of a document that a tool was answered with, after how much of it there is.
 * Raises `bad_gateway` that says why it cannot be read, and the reason of the signal.
 */
export async function documentText(
  { name: whole, mediaType, bytes, isCut = false }: AnsweredDocument,
  readDocument: ReadDocuments,
  signal: AbortSignal,
): Promise<string> {
  const name = whole.slice(0, NAME_MAX)
  if (!detectDocument(bytes)) {
    const type = mediaType.slice(0, NAME_MAX) || 'of no media type'
    throw toolError(`The document is ${type}; text, ${DOCUMENTS} can be read.`)
  }
  if (isCut)
    throw toolError(`The file ${name} is too large: it has more than ${bytes.length} bytes.`)
  try {
    const { text, extent } = await readDocument({ name, bytes }, signal)
    return extent === '' ? text : `(${extent})\n${text}`
  } catch (thrown) {
    throw thrown instanceof AppError && !signal.aborted ? toolError(thrown.message) : thrown
  }
}
