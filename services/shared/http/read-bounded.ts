/**
 * Reads an answer in UTF-8 of at most `bytesMax` bytes. Returns undefined for a longer one, of
 * which no more is read.
 */
export async function readBounded(
  { body }: Response,
  bytesMax: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    // Leaving the loop cancels the stream.
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
