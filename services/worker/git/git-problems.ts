import type { RepositoryPlace } from '../../platform/crews/source-repositories.ts'
import { AppError } from '../../shared/errors.ts'
import { describeEnd } from '../deployments/process/run-program.ts'
import type { GitEnd } from './run-git.ts'

/** The largest history of one commit that is fetched, as the server packs it. */
export const PACK_BYTES_MAX = 128 * 1024 * 1024
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
export function gitProblem(end: GitEnd, place: RepositoryPlace, what: string): AppError {
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
