import { NOUNS } from '../services/web/nouns/list.ts'
import type { Reader } from '../services/web/resources/declaration.ts'
import { namesOf } from '../services/web/resources/names.ts'
import { API, pathsOf } from '../services/web/resources/rights.ts'

const HEAD =
  '| Resource | Address | Fields | Actions | At most | Read | Change | Scope |\n' +
  '| --- | --- | --- | --- | --- | --- | --- | --- |'

/** Returns the row of a resource in the table. */
export const resourceRow: Reader<string> = (declaration) => {
  const { kind, fields, verbs, actions, most, rights, scope } = declaration
  const address = `${API}${pathsOf(declaration).list}`.replaceAll(/:(\w+?)Id/g, '{$1_id}')
  const named = Object.entries(fields).map(([name, { type, look }]) => {
    const notes = [
      ...(type === 'optional' ? ['optional'] : []),
      ...(look.isFixed || !verbs.change ? ['fixed'] : []),
      ...(look.control.isSecret ? ['never shown'] : []),
    ]
    return `\`${name}\`${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`
  })
  const acts = Object.keys(actions).map((name) => `\`${name}\``)
  const cells = [
    namesOf(kind).titles,
    `\`${address}\``,
    named.join(', '),
    acts.join(', '),
    most,
    rights.read,
    rights.change,
    scope ? `\`${scope}\`` : 'a session',
  ]
  return `| ${cells.join(' | ')} |`
}

/** Returns docs/reference.md with the table of resources as they are declared. */
export const withResourceTable = (text: string): string => {
  const table = [HEAD, ...NOUNS.map((noun) => noun.read(resourceRow)), ''].join('\n')
  return text.replace(/^\| Resource \|.*\n(?:\|.*\n)+/m, () => table)
}
