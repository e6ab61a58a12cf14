import type { Versions } from './versions.ts'

const HEADING = '\n## Unreleased\n'

/**
 * Returns the changelog with the versions and the date of a release over its section: the one that
 * has its version already, or "Unreleased", above which a new empty one begins. Throws unless there
 * is one section "Unreleased" that has something, or has nothing beside a section of the version.
 */
export function dateRelease(changelog: string, versions: Versions, date: string): string {
  const [before, section, ...others] = changelog.split(HEADING)
  if (before === undefined || section === undefined || others.length > 0) {
    throw new Error('CHANGELOG.md must have one section "## Unreleased"')
  }
  const { platform, chart, collector } = versions
  const released = `\n## ${platform} (${date})\n\nChart ${chart}, collector ${collector}.\n`
  const written = `\n## ${platform}\n`
  const isEmpty = /^\s*(## |$)/.test(section)
  if (isEmpty && section.includes(written)) return changelog.replace(written, released)
  if (section.includes(written)) {
    throw new Error(
      `CHANGELOG.md has "## ${platform}" already: move what is under "## Unreleased" there`,
    )
  }
  if (isEmpty) {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased": say what this release changes')
  }
  return `${before}${HEADING}${released}${section}`
}
