/** The characters that wait for their commit at the most, before more is read. */
const WAITING_CHARACTERS_MAX = 1_048_576

interface CommitsOptions<Item, Result> {
  /** Commits items after those of earlier calls, and resolves when they are. */
  readonly commit: (items: readonly Item[]) => Promise<Result>
  /** Called in the order of the items, with what their commit returned. */
  readonly onCommitted: (items: readonly Item[], result: Result) => void
}

/** Commits that go on while more is read. */
interface OpenCommits<Item> {
  /** Begins a commit, and resolves when more may be read. Raises what failed a commit. */
  add(items: readonly Item[], characters: number): Promise<void>
  /** Waits for all of them. Raises what failed one. */
  settle(): Promise<void>
  /** Aborts with what failed a commit. */
  readonly failed: AbortSignal
}

/** Opens a row of commits: what was reported is committed while the next is read. */
export function openCommits<Item, Result = void>({
  commit,
  onCommitted,
}: CommitsOptions<Item, Result>) {
  const failing = new AbortController()
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  const commits: OpenCommits<Item> = {
    failed: failing.signal,
    async add(items, characters) {
      waiting += characters
      last = Promise.all([last, commit(items)]).then(([, result]) => {
        waiting -= characters
        onCommitted(items, result)
      })
      last.catch((thrown: unknown) => failing.abort(thrown))
      if (waiting > WAITING_CHARACTERS_MAX) await last
    },
    async settle() {
      await last
    },
  }
  return commits
}
