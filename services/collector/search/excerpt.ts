import type { Message, Messages, Part } from '../conventions/message.ts'

/** Characters that are kept of each side. */
const MAX_SIDE = 1024
/** Half of a character that is written as two. */
const CUT_CHARACTER = /[\uD800-\uDBFF]$/

/**
 * The text by which a span is found: of its input the latest messages, for the earlier ones are the
 * input of earlier calls too, and of its output the beginning. Empty for a span without messages.
 */
export function excerptOf({ input, output }: Messages): string {
  const kept: string[] = []
  let left = MAX_SIDE
  for (let i = input.length - 1; i >= 0 && left > 0; i--) {
    const text = cut(textOf(input[i]), left)
    left -= text.length
    if (text !== '') kept.unshift(text)
  }
  const answer = cut(output.map(textOf).join('\n'), MAX_SIDE)
  return [...kept, answer].filter((text) => text !== '').join('\n')
}

const cut = (text: string, length: number): string =>
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
