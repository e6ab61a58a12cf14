/** Characters that steer terminals or turn the direction of text: shown, they would deceive. */
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const PICTURES = 0x2400
const DELETE = 0x7f

/**
 * Returns a text in which nothing is hidden: control characters as their pictures, marks of
 * direction by their code. Line breaks and tabs stay.
 */
export const visibleText = (text: string): string => text.replace(INVISIBLE, pictureOf)

/** Tells whether a text has characters that `visibleText` shows. */
export const hasInvisible = (text: string): boolean => visibleText(text) !== text

function pictureOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (character === '\n' || character === '\t' || character === '\r') return character
  if (code < 0x20) return String.fromCodePoint(PICTURES + code)
  if (code === DELETE) return '␡'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
