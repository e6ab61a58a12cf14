import type { Message, Messages, Part } from '../conventions/message.ts'

/** Characters that are kept of each side. */
const MAX_SIDE = 1024
/** Half of a character that is written as two. */
const CUT_CHARACTER = /[\uD800-\uDBFF]$/

/** A part of what a span was given and what it answered, one after the other. */
export interface Excerpt {
  readonly text: string
  /** Where the last message of the input begins; null without one. */
  readonly askedAt: number | null
  /** Where the output begins; null without one. */
  readonly answeredAt: number | null
}

/**
 * The text by which a span is found: of its input the latest messages, for the earlier ones are the
 * input of earlier calls too, and of its output the beginning. Empty for a span without messages.
 */
export function excerptOf({ input, output }: Messages): Excerpt {
  const kept: string[] = []
  let left = MAX_SIDE
  for (let i = input.length - 1; i >= 0 && left > 0; i--) {
    const text = cut(textOf(input[i]), left)
    left -= text.length
    if (text !== '') kept.unshift(text)
  }
  const answer = cut(output.map(textOf).join('\n'), MAX_SIDE)
  const question = kept.join('\n')
  const last = kept.at(-1)
  const text = [question, answer].filter((each) => each !== '').join('\n')
  return {
    text,
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
