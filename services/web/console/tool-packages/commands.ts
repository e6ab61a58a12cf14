/** A command to paste, under its label. */
export type LabelledCommand = readonly [label: string, text: string]

/** The index of an organization, or that of everybody. */
export type IndexName = 'organization' | 'public'

const urlOf = (baseUrl: string, path: string): string => new URL(`/tools/${path}`, baseUrl).href

/** The address that installers read, with the token in the variable TOKEN. */
function indexUrl(baseUrl: string, index: IndexName): string {
  const url = urlOf(baseUrl, `${index}/simple/`)
  return index === 'public' ? url : url.replace('://', '://__token__:$TOKEN@')
}

/** Commands that install a package, and ask an index for it. */
export const installCommands = (
  baseUrl: string,
  index: IndexName,
  name: string,
): readonly LabelledCommand[] => {
  const url = indexUrl(baseUrl, index)
  return [
    ['Install with pip, from this index alone', `pip install ${name} \\\n  --index-url "${url}"`],
    [
      'Install with uv, from this index first and from PyPI what it lacks',
      `uv pip install ${name} \\\n  --index "${url}"`,
    ],
  ]
}

/** Commands that upload what was built into `dist`. */
export const uploadCommands = (baseUrl: string, index: IndexName): readonly LabelledCommand[] => {
  const url = urlOf(baseUrl, `${index}/`)
  return [
    [
      'Upload with twine',
      `twine upload --repository-url ${url} \\\n  -u __token__ -p "$TOKEN" dist/*`,
    ],
    ['Upload with uv', `uv publish --publish-url ${url} \\\n  --token "$TOKEN" dist/*`],
  ]
}

/** The command that puts a token where the others look for it. */
export const tokenCommand = (token: string): LabelledCommand => [
  'Set the token for the commands',
  `export TOKEN=${token}`,
]
