// The texts that an editor takes back, one after the other.

const TEXTS_MAX = 100

/** Begins with the text that was opened. */
export function createHistory(opened) {
  const former = [opened]
  // What was typed is not among them before the server has answered.
  let isTyped = false
  return {
    type() {
      isTyped = true
    },
    /** Keeps what the server has read; false when there is nothing to take back. */
    remember(text) {
      isTyped = false
      if (text !== former.at(-1)) former.push(text)
      if (former.length > TEXTS_MAX) former.shift()
      return former.length > 1
    },
    /** Returns the text before the last change. */
    undo() {
      if (!isTyped && former.length > 1) former.pop()
      return former.at(-1)
    },
  }
}
