import { toError } from '../errors.ts'

/** The size of a stream's pieces, and its time limit. */
interface ByteStreamOptions {
  /** A reader that takes longer loses its connection: what it holds is scarce. */
  readonly timeoutMs: number
  /** The time is for each piece rather than for all. @default false */
  readonly isForEachPiece?: boolean
  /** Called once, whichever way it ends; with the failure, if it was one. */
  readonly onEnd: (failure?: Error) => void
}

/** The parts as a stream of bytes, made only as fast as they are read. */
export function toByteStream(
  parts: AsyncGenerator<string | Uint8Array, void, undefined>,
  { timeoutMs, isForEachPiece = false, onEnd }: ByteStreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let timer: NodeJS.Timeout | undefined
  let isOpen = true
  const end = (failure?: Error): void => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(timer)
    onEnd(failure)
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const expire = (): void => {
        const error = new Error(`The answer was not read within ${timeoutMs} ms.`)
        end(error)
        controller.error(error)
        void parts.return()
      }
      timer = setTimeout(expire, timeoutMs).unref()
    },
    async pull(controller) {
      if (isForEachPiece) timer?.refresh()
      try {
        const { done, value } = await parts.next()
        if (!isOpen) return
        if (value) controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
        if (!done) return
        end()
        controller.close()
      } catch (thrown) {
        if (!isOpen) return
        end(toError(thrown))
        controller.error(thrown)
      }
    },
    async cancel() {
      end()
      await parts.return()
    },
  })
}
