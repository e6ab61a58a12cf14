const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}
const plain = (escaped: string): string =>
  escaped.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity)

const FIELD = new RegExp(
  [
    /<input\b([^>]*)>/,
    /<textarea\b([^>]*)>([\s\S]*?)<\/textarea>/,
    /<select\b([^>]*)>([\s\S]*?)<\/select>/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)
const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)
  return found ? plain(found[1] ?? '') : undefined
}

/** Returns what a browser sends of the fields in a page, when nobody has changed them. */
export function fieldsOf(page: string): URLSearchParams {
  const sent = new URLSearchParams()
  for (const [, input, area, text = '', select, options = ''] of page.matchAll(FIELD)) {
    const tag = input ?? area ?? select ?? ''
    const name = attribute(tag, 'name')
    const isOff = /type="(checkbox|radio)"/.test(tag) && !/\schecked\b/.test(tag)
    if (name === undefined || isOff) continue
    if (area !== undefined) sent.append(name, plain(text.replace(/^\n/, '')))
    else sent.append(name, select === undefined ? valueOf(tag) : chosenIn(options))
  }
  return sent
}

const valueOf = (tag: string): string => attribute(tag, 'value') ?? 'on'

function chosenIn(options: string): string {
  const all = [...options.matchAll(/<option\b([^>]*)>/g)].map(([, option = '']) => option)
  return attribute(all.find((each) => /\bselected\b/.test(each)) ?? '', 'value') ?? ''
}
