import fc from 'fast-check'

/** Pieces of which a writer of YAML may lose or misread the ends, the beginnings and the breaks. */
const PIECES = [
  ' ',
  '  ',
  '\n',
  '\n',
  '\n\n',
  '	',
  '\r',
  '\r\n',
  'a',
  'word',
  '0',
  ':',
  ': ',
  '#',
  ' # ',
  '-',
  '- ',
  '---',
  '...',
  '|',
  '>',
  '%',
  '"',
  "'",
  '\\',
  '{{',
  '}}',
  '{',
  '&a',
  '*a',
  '!',
  '@',
  '`',
  'é',
  '漢',
  '🙂',
  '\xA0',
  '​',
  '',
  '\u2028',
  '\u2029',
  '﻿',
  '',
  '',
]

/** Texts of several lines, with blanks, breaks and marks of YAML at all places. */
export const anyLines = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 10 })
  .map((pieces) => pieces.join(''))

/** Those that Helm can keep in a part that goes to Kubernetes as it is given. */
export const linesOfParts = anyLines.filter(
  (text) => !/(?![\t\n])\p{Cc}|(^|\n)\n$|^\n* [ \n]*\n/u.test(text),
)
