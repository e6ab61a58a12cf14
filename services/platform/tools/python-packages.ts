/** Normalizes the name of a package, as PEP 503 compares it. */
export const normalizeToolName = (name: string): string =>
  name.replace(/[-_.]+/g, '-').toLowerCase()

/** Recognizes a valid name of a package (PEP 508). */
export const isToolName = (name: string): boolean =>
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/.test(name)

/** The regular expression of PEP 440, Appendix B, with bounds, for text in lower case. */
const VERSION = new RegExp(
  [
    /^v?(?:(?<epoch>\d{1,9})!)?(?<release>\d{1,9}(?:\.\d{1,9}){0,9})/,
    /(?:[-_.]?(?<stage>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<stageNumber>\d{0,9}))?/,
    /(?:-(?<bare>\d{1,9})|[-_.]?(?<post>post|rev|r)[-_.]?(?<postNumber>\d{0,9}))?/,
    /(?:[-_.]?(?<dev>dev)[-_.]?(?<devNumber>\d{0,9}))?/,
    /(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/,
  ]
    .map(({ source }) => source)
    .join(''),
)

const STAGES: Readonly<Record<string, string>> = {
  alpha: 'a',
  beta: 'b',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
}

/** Returns the canonical form of a version (PEP 440); undefined when the text is no version. */
export function canonicalVersion(text: string): string | undefined {
  const parts = text.length <= 100 ? VERSION.exec(text.toLowerCase())?.groups : undefined
  if (!parts) return undefined
  const { epoch, release = '', stage, bare, post, dev, local } = parts
  return [
    epochOf(epoch),
    release
      .split('.')
      .map(Number)
      .join('.')
      .replace(/(\.0)+$/, ''),
    counted(stage && (STAGES[stage] ?? stage), parts['stageNumber']),
    counted(bare && '.post', bare),
    counted(post && '.post', parts['postNumber']),
    counted(dev && '.dev', parts['devNumber']),
    local ? `+${local.replace(/[-_]/g, '.')}` : '',
  ].join('')
}

const epochOf = (epoch = '0'): string => (Number(epoch) > 0 ? `${Number(epoch)}!` : '')

const counted = (label: string | undefined, number: string | undefined): string =>
  label ? `${label}${Number(number)}` : ''

const CLAUSE = /^(~=|===?|!=|<=?|>=?)\s*([0-9a-z.!+_-]+?)(\.\*)?$/i

/** Recognizes a version specifier, such as `>=3.10,<4` (PEP 440). */
export function isVersionSpecifier(text: string): boolean {
  if (text.length > 200) return false
  return text.split(',').every((clause) => {
    const [, operator = '', version = '', wildcard] = CLAUSE.exec(clause.trim()) ?? []
    const isVersion = canonicalVersion(version) !== undefined
    return isVersion && (wildcard === undefined || operator === '==' || operator === '!=')
  })
}

/**
 * Reads name and version from the name of a wheel or a source archive; undefined for other names.
 */
export function parseToolFilename(
  filename: string,
): { readonly name: string; readonly version: string } | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9._+!-]{0,253}$/.test(filename)) return undefined
  const [, wheel] = /^(.+)\.whl$/.exec(filename) ?? []
  if (wheel !== undefined) {
    const [name = '', version = '', ...tags] = wheel.split('-')
    return tags.length === 3 || tags.length === 4 ? { name, version } : undefined
  }
  const [, name, version] = /^(.+?)-([^-]+(?:-\d+)?)\.(?:tar\.gz|zip)$/.exec(filename) ?? []
  return name !== undefined && version !== undefined ? { name, version } : undefined
}
