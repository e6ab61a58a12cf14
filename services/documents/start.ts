import type { Readable } from 'node:stream'
import { Refusal } from './document-text.ts'
import type { DocumentText } from './document-text.ts'
import { readOffice } from './read-office.ts'
import { readPdf } from './read-pdf.ts'

/**
 * Reads a document of a media type from one stream and writes its text to another as JSON, or
 * `problem`, why it cannot be read. It may be killed at any time: it holds nothing.
 */
export async function answerDocument(
  mediaType: string,
  input: Readable,
  output: { write(text: string): boolean },
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(chunk)
  output.write(JSON.stringify(await read(mediaType, Buffer.concat(chunks))))
}

/** What a library cannot read. */
export const DAMAGED = { problem: 'is damaged: it cannot be read' }

async function read(
  mediaType: string,
  bytes: Buffer,
): Promise<DocumentText | { readonly problem: string }> {
  try {
    const isPdf = mediaType === 'application/pdf'
    const read = await (isPdf ? readPdf(bytes) : readOffice(mediaType, bytes))
    if (/[^\s[\]]/u.test(read.text)) return read
    throw new Refusal('has no text')
  } catch (thrown) {
    // Whatever a library says of such a file is no word for people.
    return thrown instanceof Refusal ? { problem: thrown.message } : DAMAGED
  }
}
