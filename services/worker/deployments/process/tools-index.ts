/** The adapter that makes a crew of a Python project; the platform's index alone has it. */
export const ADAPTER = 'crew-runtime'

/** The indexes that packages of crews come from, the first one that has a name first. */
export interface PackageIndexes {
  /**
   * The tools index of the platform, as the organization of a crew sees it: its own tools and the
   * public ones.
   */
  readonly organization: { readonly url: string; readonly token: string }
  /** For all other names. */
  readonly publicUrl: string
}

const PYPI = 'https://pypi.org/simple'

/** The public index of this machine's operator, or PyPI. */
export const publicIndexOf = (machine: Readonly<Record<string, string | undefined>>): string =>
  machine['UV_DEFAULT_INDEX'] ?? machine['UV_INDEX_URL'] ?? machine['PIP_INDEX_URL'] ?? PYPI

/** The address of an organization's index with its token, for installers. */
export function addressWithToken({ organization }: PackageIndexes): string {
  const { url, token } = organization
  return Object.assign(new URL(url), { username: '__token__', password: token }).href
}
