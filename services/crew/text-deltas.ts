import type { TextDelta } from '../platform/crew-contract/crew-protocol.ts'
import type { HearText } from '../shared/models/wire/wire-form.ts'

/** The pause between two reports: eyes follow no faster, and each one is a line. */
const EVERY_MS = 100

/** Whether somebody follows what the models of a run write. */
export interface TextWish {
  isWanted: boolean
}

/** The text of one answer, on its way to those who follow the run. */
export interface TextReport {
  readonly hear: HearText
  /** Reports what is left. Has to be called in the end. */
  end(): void
}

/** Reports what a model writes, some times a second; a text that begins anew has the offset 0. */
export function reportText(
  tell: (delta: TextDelta) => void,
  facts: Pick<TextDelta, 'step' | 'task' | 'agent'>,
): TextReport {
  let waiting = { offset: 0, text: '' }
  let timer: NodeJS.Timeout | undefined
  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (waiting.text !== '') tell({ type: 'text_delta', ...facts, ...waiting })
    waiting = { offset: waiting.offset + waiting.text.length, text: '' }
  }
  return {
    hear(text, offset) {
      if (offset !== waiting.offset + waiting.text.length) {
        flush()
        waiting.offset = offset
      }
      waiting.text += text
      timer ??= setTimeout(flush, EVERY_MS)
    },
    end: flush,
  }
}
