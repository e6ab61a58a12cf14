/** Longer lines have none of the texts that are looked for. */
const LINE_CHARACTERS_MAX = 1000
const TABLE = /^\s*\[\s*([^[\]]+?)\s*\]\s*(?:#.*)?$/
const TEXT = /^\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\["\\])*)"|'([^']*)')\s*(?:#.*)?$/

/**
 * Returns the plain texts in a TOML document by their dotted keys, such as
 * `project.requires-python`. Everything else in it is skipped, and so is what is not TOML: whoever
 * installs the project reads all of it.
 */
export function readTomlTexts(document: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  let table = ''
  for (const line of document.split('\n')) {
    if (line.length > LINE_CHARACTERS_MAX) continue
    const [, name] = TABLE.exec(line) ?? []
    if (name !== undefined) table = name.replaceAll(/["'\s]/g, '')
    const [, key, quoted, literal] = TEXT.exec(line) ?? []
    if (key === undefined) continue
    const value = literal ?? (quoted ?? '').replaceAll(/\\(["\\])/g, '$1')
    texts.set(table === '' ? key : `${table}.${key}`, value)
  }
  return texts
}
