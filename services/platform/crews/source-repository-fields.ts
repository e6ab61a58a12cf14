import { addressProblem } from '../../shared/outgoing/address.ts'

/** The longest address of a repository. */
export const REPOSITORY_URL_MAX = 2000
/** The longest name of a branch or tag. */
export const REPOSITORY_REF_MAX = 255
/** The longest path of a folder. */
export const REPOSITORY_DIRECTORY_MAX = 500
/** The longest access token. */
export const REPOSITORY_TOKEN_MAX = 4096
/** What the name of a branch or tag looks like; `..`, `//` and `.lock` are refused beside it. */
export const REPOSITORY_REF = /^[A-Za-z0-9_][A-Za-z0-9._/+#=@-]*$/
/** What an access token looks like. */
export const REPOSITORY_TOKEN = /^[\x21-\x7e]+$/

const show = (text: string): string => JSON.stringify(text.slice(0, 100))

/** Returns what is wrong with the address of a repository, as the rest of a sentence. */
export function repositoryUrlProblem(url: string): string | undefined {
  if (url.length > REPOSITORY_URL_MAX) return `has at most ${REPOSITORY_URL_MAX} characters`
  if (/^(ssh|git\+ssh):|^[\w.-]+@[\w.-]+:/i.test(url)) {
    return (
      'is an address of SSH, which is not supported. Give the https address of the repository, ' +
      'and an access token that may only read it, such as a deploy token, in the field for it'
    )
  }
  const problem =
    addressProblem(url) ??
    (url.includes('?') || new URL(url).pathname === '/' ? 'must have a path, and no ?' : undefined)
  return (
    problem &&
    `${problem}. Give the https address of the repository, such as ` +
      'https://github.com/acme/crew.git; an access token has a field of its own'
  )
}

/** Returns what is wrong with the name of a branch or tag, as the rest of a sentence. */
export function repositoryRefProblem(ref: string): string | undefined {
  const isName = REPOSITORY_REF.test(ref) && !/\.\.|\/\/|@\{|\.lock(\/|$)|[./]$|\/\./.test(ref)
  if (isName && ref.length <= REPOSITORY_REF_MAX) return undefined
  return `must be the name of a branch or tag, or a whole commit, such as main; not ${show(ref)}`
}

/** Returns what is wrong with the folder of a project, as the rest of a sentence. */
export function repositoryDirectoryProblem(directory: string): string | undefined {
  const parts = directory.split('/')
  const isPath =
    directory.length <= REPOSITORY_DIRECTORY_MAX &&
    !/[\p{Cc}\\]/u.test(directory) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (isPath) return undefined
  return (
    'must be the path of a folder within the repository, such as crews/research; not ' +
    show(directory)
  )
}

/** Returns what is wrong with a token, as the rest of a sentence that does not repeat it. */
export function repositoryTokenProblem(token: string): string | undefined {
  if (REPOSITORY_TOKEN.test(token) && token.length <= REPOSITORY_TOKEN_MAX) return undefined
  return `must have 1 to ${REPOSITORY_TOKEN_MAX} visible characters of ASCII, without spaces`
}
