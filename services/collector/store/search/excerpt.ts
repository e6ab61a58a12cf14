import type { Message, Messages, Part } from '../../../shared/trace-answers/one-trace.ts'

/** Characters that are kept of each side. */
const MAX_SIDE = 1024
/** Half of a character that is written as two. */
const CUT_CHARACTER = /[\uD800-\uDBFF]$/
/** Half of a character without the other one: JSON can write it, and no text has it. */
const HALF_CHARACTER = /\p{Surrogate}/gu
/** It takes a fraction of the time. */
const HAS_PAIRS = /[\uD800-\uDFFF]/

/** A part of what a span was given and what it answered, one after the other. */
export interface Excerpt {
  readonly text: string
  /** Where the message that asks begins, the last of the input's; null without one. */
  readonly askedAt: number | null
  /** Where the output begins; null without one. */
  readonly answeredAt: number | null
}

/** Roles of messages that ask nothing: what the system says, and what the model has said. */
const NOT_ASKING: readonly string[] = ['system', 'developer', 'assistant']

/**
 * The text by which a span is found: of its input the latest messages, for the earlier ones are the
 * input of earlier calls too, and of its output the beginning. Empty for a span without messages.
 * The message that asks comes last of the input, whatever follows it.
 */
export function excerptOf({ input, output }: Messages): Excerpt {
  const asking = input.findLastIndex(({ role }) => !NOT_ASKING.includes(role))
  const inOrder =
    asking < 0 ? input : [...input.toSpliced(asking, 1), ...input.slice(asking, asking + 1)]
  const kept: string[] = []
  let left = MAX_SIDE
  for (let i = inOrder.length - 1; i >= 0 && left > 0; i--) {
    const text = cut(textOf(inOrder[i]), left)
    left -= text.length
    if (text !== '') kept.unshift(text)
  }
  const answer = cut(output.map(textOf).join('\n'), MAX_SIDE)
  const question = kept.join('\n')
  const last = asking < 0 || textOf(input[asking]) === '' ? undefined : kept.at(-1)
  const text = [question, answer].filter((each) => each !== '').join('\n')
  return {
    text: HAS_PAIRS.test(text) ? text.replace(HALF_CHARACTER, '\uFFFD') : text,
    askedAt: last === undefined ? null : question.length - last.length,
    answeredAt: answer === '' ? null : text.length - answer.length,
  }
}

/** A text of so many characters at the most, of which none is halved. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(CUT_CHARACTER, '')

const textOf = (message: Message | undefined): string =>
  (message?.content ?? [])
    .map(partText)
    .filter((text) => text !== '')
    .join('\n')

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool_call':
      return `${part.name} ${JSON.stringify(part.arguments) ?? ''}`
    case 'tool_result':
      return part.content
    case 'image':
      return ''
  }
}
