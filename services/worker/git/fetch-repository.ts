import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { RepositoryPlace } from '../../platform/crews/source-repositories.ts'
import { UNPACKED_BYTES_MAX } from '../../platform/crews/source-archive/limits.ts'
import { AppError } from '../../shared/errors.ts'
import type { Asker, OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { describeEnd } from '../deployments/process/run-program.ts'
import { addressesOf, gitEnvironment } from './git-environment.ts'
import { runGit } from './run-git.ts'
import type { GitEnd } from './run-git.ts'

/** The heads of the files in an archive, and its padding. */
const ARCHIVE_BYTES_MAX = UNPACKED_BYTES_MAX + 32 * 1024 * 1024

/** What git finds on this machine. */
export interface GitPrograms {
  /** Where programs are. */
  readonly path: string
  /** A file with authorities that are trusted beside those of Node. */
  readonly extraAuthoritiesPath: string | undefined
}

interface Fetching extends Asker {
  /** The address of the place, parsed: what the guard vets is what git gets. */
  readonly url: URL
  readonly place: RepositoryPlace
  readonly token: string | undefined
  readonly guard: OutgoingGuard
  readonly programs: GitPrograms
  /** An empty folder, which the caller deletes. */
  readonly directory: string
}

/** One commit of a repository. */
export interface FetchedCommit {
  readonly commit: string
  /** A .tar of its files. */
  readonly archivePath: string
}

/**
 * Fetches one commit of a repository with the program git, without its history, submodules and
 * large files elsewhere. Raises `unprocessable` and `bad_gateway` with what to do.
 */
export async function fetchRepository(fetching: Fetching): Promise<FetchedCommit> {
  const { url, place, directory, signal } = fetching
  const env = await openEnvironment(fetching)
  const git = async (what: string, args: readonly string[], fileBytesMax = PACK_BYTES_MAX) => {
    const end = await runGit({ args, directory, env, fileBytesMax, signal })
    if (end.code !== 0 || end.isTooLarge) throw gitProblem(end, place, what)
    return end
  }
  await git('prepared', ['init', '--quiet', '--bare', '--template=', 'repository.git'])
  const inside = ['--git-dir', 'repository.git']
  const fetch = ['fetch', '--quiet', '--depth', '1', '--no-tags', '--no-recurse-submodules']
  await git('fetched', [...inside, ...fetch, '--', url.href, place.ref])
  const commit = readCommit(
    await git('read', [...inside, 'rev-parse', '--verify', 'FETCH_HEAD^{commit}']),
  )
  const archivePath = join(directory, 'source.tar')
  const folder = place.directory === null ? [] : ['--', place.directory]
  const archive = ['archive', '--format=tar', `--output=${archivePath}`, commit, ...folder]
  await git('read', [...inside, ...archive], ARCHIVE_BYTES_MAX)
  return { commit, archivePath }
}

async function openEnvironment(fetching: Fetching): Promise<Record<string, string>> {
  const { url, guard, directory: home, token, programs, subject, signal } = fetching
  if (url.protocol !== 'https:' && !guard.isListed(url)) throw noTls(url)
  const route = await guard.pin(url, { subject, signal })
  const authoritiesPath = join(home, 'authorities.pem')
  const { path, extraAuthoritiesPath: extra } = programs
  const own = extra === undefined ? [] : [await readFile(extra, 'utf8')]
  await writeFile(authoritiesPath, [...rootCertificates, ...own].join('\n'))
  const way =
    'proxy' in route
      ? { addresses: [], proxy: route.proxy }
      : { addresses: await addressesOf(route.lookup, url.hostname) }
  return gitEnvironment({ url, ...way, authoritiesPath, token, path, home })
}

const noTls = ({ origin }: URL): AppError =>
  new AppError(
    'unprocessable',
    'A repository is pulled by https only. The operator can allow one without TLS by listing ' +
      `${origin} in GIT_PRIVATE_ORIGINS (chart: outgoing.gitPrivateOrigins).`,
  )

function readCommit({ output }: GitEnd): string {
  const commit = output.trim().split('\n').at(-1) ?? ''
  if (/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)) return commit
  throw new AppError('unprocessable', 'The branch or tag does not name a commit.')
}

/** The largest history of one commit that is fetched, as the server packs it. */
const PACK_BYTES_MAX = 128 * 1024 * 1024
const OUTPUT_SHOWN = 300

interface Problem {
  readonly says: RegExp
  readonly means: (place: RepositoryPlace) => string
}

const PROBLEMS: readonly Problem[] = [
  {
    says: /couldn't find remote ref|not our ref|unadvertised object|no such ref/i,
    means: ({ ref }) =>
      `The repository has no branch or tag ${JSON.stringify(ref)}. Check its name; a commit has ` +
      'to be given whole, and not every server serves it.',
  },
  {
    says: /did not match any files|not a valid object name|pathspec/i,
    means: ({ ref, directory }) =>
      `${JSON.stringify(ref)} has no folder ${JSON.stringify(directory ?? '')}. Check the folder.`,
  },
  {
    says: /Authentication failed|could not read (Username|Password)|returned error: 40[13]/i,
    means: () =>
      'The server asks for an access token, or refuses the one that is saved: it may have ended, ' +
      'or may not read this repository. Save a token that may read it.',
  },
  {
    says: /returned error: 30\d|redirect/i,
    means: () =>
      'The server sends to another address, which is not followed: a token could go elsewhere. ' +
      'Save the address that the repository has now.',
  },
  {
    says: /repository .* not found|returned error: 404|not appear to be a git repo|is this a git/i,
    means: () =>
      'There is no Git repository at this address, or it is private and needs an access token. ' +
      'Check the address, which is the one for git clone.',
  },
  {
    says: /certificate|SSL|TLS/,
    means: () =>
      'The certificate of the server is not trusted. If it is of an authority of your own, the ' +
      'operator adds that to global.caBundle (NODE_EXTRA_CA_CERTS).',
  },
]

/** Creates the error of a call of git that did not succeed, with what to do about it. */
function gitProblem(end: GitEnd, place: RepositoryPlace, what: string): AppError {
  if (end.isMissing) return unprocessable(NO_GIT)
  if (end.isTooLarge) return unprocessable(TOO_LARGE)
  const known = PROBLEMS.find(({ says }) => says.test(end.output))
  if (known) return unprocessable(known.means(place))
  const said = end.output.trim().split('\n').at(-1) ?? ''
  return unprocessable(
    `The repository could not be ${what}: git ${describeEnd(end)}. It said: ` +
      `${said.slice(0, OUTPUT_SHOWN) || 'nothing'}. Pull again, and check the address if it ` +
      'says the same.',
  )
}

const unprocessable = (message: string): AppError => new AppError('unprocessable', message)

const NO_GIT =
  'The worker has no program named git. The image of the platform has it; outside of a cluster, ' +
  'install git and pull again.'

const TOO_LARGE =
  `One commit of the repository may have ${PACK_BYTES_MAX / 1024 / 1024} MiB as it is sent, and ` +
  '256 MiB of files; this one has more. Keep data out of it, or name the folder of the project ' +
  'and send it as an archive instead.'
