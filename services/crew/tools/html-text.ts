/** Elements whose content is no text for readers. Written so that it is linear in the page. */
const HIDDEN =
  /<(script|style|head|template|noscript|svg|iframe)\b[^>]*>?[^]*?(?:<\/\1\b[^>]*>?|$)/gi
const BREAKS: Readonly<Record<string, string>> = {
  br: '\n',
  hr: '\n\n---\n\n',
  li: '\n- ',
  tr: '\n',
  td: ' | ',
  th: ' | ',
  h1: '\n\n# ',
  h2: '\n\n## ',
  h3: '\n\n### ',
  h4: '\n\n#### ',
  h5: '\n\n##### ',
  h6: '\n\n###### ',
}
const BLOCK_NAMES =
  'address article aside blockquote dd details div dl dt fieldset figure footer form header main ' +
  'nav ol p pre section summary table ul'
const BLOCKS = new Set(BLOCK_NAMES.split(' '))
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  copy: '©',
  gt: '>',
  hellip: '…',
  laquo: '«',
  ldquo: '“',
  lsquo: '‘',
  lt: '<',
  mdash: '—',
  nbsp: ' ',
  ndash: '–',
  quot: '"',
  raquo: '»',
  rdquo: '”',
  rsquo: '’',
}
/** A comment, a declaration, or a tag; each alternative ends at the first `>` after it. */
const MARKUP = /<!--[^]*?(?:-->|$)|<[!?][^>]*>?|<(\/?)([a-z][\w-]*)([^>]*)>?/gi

/** Turns a page of HTML into text with the headings, lists and links of Markdown. */
export function htmlToText(page: string): string {
  const written: string[] = []
  let at = 0
  let link: string | undefined

  function open(name: string, attributes: string): string {
    if (name !== 'a') return BREAKS[name] ?? (BLOCKS.has(name) ? '\n\n' : '')
    link = hrefOf(attributes)
    return link === undefined ? '' : '['
  }

  function close(name: string): string {
    if (name !== 'a') return BLOCKS.has(name) || /^h[1-6]$/.test(name) ? '\n\n' : ''
    const end = link === undefined ? '' : `](${link})`
    link = undefined
    return end
  }

  const shown = page.replace(HIDDEN, ' ')
  for (const found of shown.matchAll(MARKUP)) {
    const { index, 0: markup, 1: slash, 2: tag = '', 3: attributes = '' } = found
    const name = tag.toLowerCase()
    written.push(textOf(shown.slice(at, index)))
    written.push(slash === '/' ? close(name) : open(name, attributes))
    at = index + markup.length
  }
  written.push(textOf(shown.slice(at)))
  return tidy(written.join(''))
}

const tidy = (text: string): string =>
  text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

function hrefOf(attributes: string): string | undefined {
  const [, one, two, three] =
    /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(attributes) ?? []
  const href = one ?? two ?? three ?? ''
  return /^(https?:)?\/|^[\w.-]+(\/|$)/i.test(href) ? unescape(href) : undefined
}

const textOf = (text: string): string => unescape(text.replace(/\s+/g, ' '))

function unescape(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7}|x[\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole: string, number, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
      const point = Number(`${/^x/i.test(String(number)) ? '0' : ''}${String(number)}`)
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
    },
  )
}
