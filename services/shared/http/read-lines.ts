interface LineLimits {
  /** The longest line, in characters; a longer one raises. */
  readonly charactersMax: number
  /** The longest silence between two pieces; a longer one raises. */
  readonly silenceMs: number
  /** Ends the reading, as if the stream had ended. */
  readonly signal: AbortSignal
}

/** The non-empty lines of a stream of UTF-8 text. Leaving the loop early closes the stream. */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  limits: LineLimits,
): AsyncGenerator<string> {
  for await (const lines of readLineBatches(stream, limits)) yield* lines
}

/** The same lines, those that arrived together as one list. An empty list is a sign of life. */
export async function* readLineBatches(
  stream: ReadableStream<Uint8Array>,
  { charactersMax, silenceMs, signal }: LineLimits,
): AsyncGenerator<readonly string[]> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const cancel = (): void => void reader.cancel().catch(() => {})
  const silence = watchSilence(silenceMs, cancel)
  signal.addEventListener('abort', cancel, { once: true })
  let open = ''
  try {
    for (;;) {
      const { done, value } = await silence.within(() => reader.read())
      const piece = decoder.decode(value, { stream: !done })
      open += piece
      if (piece.includes('\n')) {
        const lines = open.split('\n')
        open = lines.pop() ?? ''
        yield lines.filter((line) => line !== '')
      }
      if (open.length > charactersMax) {
        throw new Error(`a line is longer than ${charactersMax} characters`)
      }
      if (done) break
    }
    if (open !== '') yield [open]
  } finally {
    silence.stop()
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** Cancels a read that takes longer, and raises then. One timer serves all reads. */
function watchSilence(silenceMs: number, cancel: () => void) {
  let isReading = false
  let isOver = false
  const timer = setTimeout(() => {
    isOver = isReading
    if (isOver) cancel()
  }, silenceMs)
  // What is read holds a connection open; a stream that nobody reads on holds up no exit.
  timer.unref()
  return {
    async within<Result>(read: () => Promise<Result>): Promise<Result> {
      isReading = true
      timer.refresh()
      const result = await read()
      isReading = false
      if (isOver) throw new Error(`nothing was heard for ${silenceMs / 1000} s`)
      return result
    },
    stop: () => clearTimeout(timer),
  }
}
