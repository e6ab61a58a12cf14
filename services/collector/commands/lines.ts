/** A line of a file, without its end; counted from 1. */
export interface Line {
  readonly number: number
  /** Undefined for a line of more bytes than allowed. */
  readonly text: string | undefined
  /** False for a last line that no line end follows: it may have been cut off. */
  readonly isEnded: boolean
}

const NEWLINE = 0x0a

/** The lines of a stream of bytes; no more than one line of `maxBytes` is in memory. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line, void, undefined> {
  let number = 1
  let parts: Uint8Array[] = []
  let bytes = 0
  const add = (part: Uint8Array): void => {
    bytes += part.length
    if (bytes <= maxBytes) parts.push(part)
    else parts = []
  }
  const take = (isEnded: boolean): Line => {
    const text = bytes > maxBytes ? undefined : Buffer.concat(parts).toString()
    parts = []
    bytes = 0
    return { number: number++, text, isEnded }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end))
      yield take(true)
      from = end + 1
    }
    add(chunk.subarray(from))
  }
  if (bytes > 0) yield take(false)
}
