import { Readable } from 'node:stream'
import * as v from 'valibot'
import { answerDocument } from '../../../services/documents/start.ts'
import { detectDocument } from '../../../services/shared/documents/document-types.ts'

const answer = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([
    v.object({ text: v.string(), unit: v.string(), pages: v.number() }),
    v.object({ problem: v.string() }),
  ]),
)

/** Reads a document in this process, as its own process does; returns its text or its problem. */
export async function read(bytes: Buffer): Promise<string> {
  const detected = detectDocument(bytes)
  if (!detected) return 'no document'
  if ('problem' in detected) return detected.problem
  const chunks: string[] = []
  const output = { write: (chunk: string) => chunks.push(chunk) > 0 }
  await answerDocument(detected.mediaType, Readable.from([bytes]), output)
  const answered = v.parse(answer, chunks.join(''))
  return 'problem' in answered ? answered.problem : answered.text
}
