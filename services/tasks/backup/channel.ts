/** Hands values from one side that pushes to another one that pulls, a few at a time. */
export interface Channel<Value> {
  /** Resolves when there is room for another value; undefined while there is. */
  push(value: Value): Promise<void> | undefined
  readonly end: () => void
  readonly fail: (error: unknown) => void
  values(): AsyncGenerator<Value>
}

const ROOM = 16

/** One side may be `ROOM` values ahead; a few more where it cannot stop at once. */
export function createChannel<Value>(): Channel<Value> {
  const waiting: Value[] = []
  let isOver = false
  let failure: { readonly error: unknown } | undefined
  let wake = (): void => {}
  let makeRoom: (() => void) | undefined
  let room: Promise<void> | undefined

  return {
    push(value) {
      waiting.push(value)
      wake()
      if (waiting.length < ROOM || isOver) return undefined
      room ??= new Promise((resolve) => (makeRoom = resolve))
      return room
    },
    end() {
      isOver = true
      wake()
    },
    fail(error) {
      failure = { error }
      isOver = true
      wake()
    },
    async *values() {
      try {
        for (;;) {
          const value = waiting.shift()
          if (value !== undefined) yield value
          else if (failure) throw failure.error
          else if (isOver) return
          else await new Promise<void>((resolve) => (wake = resolve))
          if (waiting.length < ROOM / 2) release()
        }
      } finally {
        // Whoever pulled has gone: nobody waits for room any more.
        isOver = true
        release()
      }
    },
  }

  function release(): void {
    makeRoom?.()
    makeRoom = undefined
    room = undefined
  }
}
