import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { MANAGER_NAME } from '../../platform/managed-resources.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { Address } from './api.ts'

/** The help of how a platform is named. */
export const ADDRESS_USAGE = `  --url URL          the platform: https://HOST [PLATFORM_URL]
  --token-file FILE  a file with a token of the organization [PLATFORM_API_TOKEN or PLATFORM_TOKEN]`

/** The help of `apply`. */
export const APPLY_USAGE = `Usage: npm run task -- apply FILE|DIR… --url URL [options]

Makes a platform have what files say: schedules, webhooks, and what else people set. Prints what
differs, field by field, and then changes it. A second time it changes nothing. It reads no
database: a token whose scopes its kinds need is enough. docs/configure-as-code.md has the form of
the files.

${ADDRESS_USAGE}
  --dry-run          only print what differs
  --prune            delete what no document has, of the kinds of the documents, below their parents
  --managed-by NAME  mark what the files keep, which pages then say; --prune deletes only what has
                     the mark of NAME
  --force            change also what was changed since the comparison
  --renew-secrets    set secrets anew, which cannot be compared
  --json             print one JSON object instead of text
  --help             print this

Exit code: 0 when everything is as the files say (or compared, with --dry-run), 2 when something is
refused, 3 when the platform cannot be reached, 1 for anything else.
`

/** The help of `export`. */
export const EXPORT_USAGE = `Usage: npm run task -- export --url URL [options]

Prints what a platform has as documents in YAML, which \`apply\` takes. Secrets are never exported.
A token with the scope \`read\` is enough.

${ADDRESS_USAGE}
  --kind KIND        only of this kind; may be repeated
  --json             print a JSON array instead of YAML
  --help             print this
`

/** The options that name a platform, with those of every task that calls one. */
export const ADDRESS = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Where secrets by reference are. */
export interface SecretSource {
  readonly variables: EnvSource
  /** Documents may name files. */
  readonly hasFiles: boolean
}

/** What a person asks `apply` for. */
export interface ApplyRequest extends Address {
  readonly paths: readonly string[]
  readonly isDryRun: boolean
  readonly isPruning: boolean
  readonly isForced: boolean
  readonly isRenewing: boolean
  readonly json: boolean
  /** The name that marks what the files keep; undefined: nothing is marked. */
  readonly managedBy: string | undefined
  readonly secrets: SecretSource
}

/** Reads the arguments of `apply`; undefined asks for its help. Raises `invalid_request`. */
export function readApplyRequest(
  args: readonly string[],
  source: EnvSource,
): ApplyRequest | undefined {
  const options = {
    ...ADDRESS,
    'dry-run': { type: 'boolean', default: false },
    prune: { type: 'boolean', default: false },
    force: { type: 'boolean', default: false },
    'renew-secrets': { type: 'boolean', default: false },
    'managed-by': { type: 'string' },
  } as const
  const wrong = refusalWith(APPLY_USAGE)
  const { values, positionals: paths } = guarded(wrong, () =>
    parseArgs({ args: [...args], options, allowPositionals: true }),
  )
  if (values.help) return undefined
  if (paths.length === 0) throw wrong('Name a file or a directory.')
  const managedBy = values['managed-by']
  if (managedBy !== undefined && !MANAGER_NAME.test(managedBy)) {
    throw wrong(
      `--managed-by has 1 to 100 letters, digits and .:/@_-, not ${JSON.stringify(managedBy)}.`,
    )
  }
  return {
    ...readAddress(values, source, wrong),
    paths,
    isDryRun: values['dry-run'],
    isPruning: values.prune,
    isForced: values.force,
    isRenewing: values['renew-secrets'],
    json: values.json,
    managedBy,
    secrets: { variables: source, hasFiles: true },
  }
}

/** What a person asks `export` for. */
export interface ExportRequest extends Address {
  /** None: all. */
  readonly kinds: readonly string[]
  readonly json: boolean
}

/** Reads the arguments of `export`; undefined asks for its help. Raises `invalid_request`. */
export function readExportRequest(
  args: readonly string[],
  source: EnvSource,
): ExportRequest | undefined {
  const options = { ...ADDRESS, kind: { type: 'string', multiple: true } } as const
  const wrong = refusalWith(EXPORT_USAGE)
  const { values } = guarded(wrong, () => parseArgs({ args: [...args], options }))
  if (values.help) return undefined
  const { kind: kinds = [], json } = values
  return { ...readAddress(values, source, wrong), kinds, json }
}

/** Makes the error for arguments that are wrong. */
type Refusal = (problem: string) => AppError

/** Returns what refuses arguments, with the help of a task. */
export const refusalWith =
  (usage: string): Refusal =>
  (problem) =>
    new AppError('invalid_request', `${problem}\n\n${usage}`)

/** Returns what was read; refuses what raises an error. */
export function guarded<Result>(wrong: Refusal, read: () => Result): Result {
  try {
    return read()
  } catch (thrown) {
    throw wrong(toError(thrown).message)
  }
}

interface GivenAddress {
  readonly url?: string | undefined
  readonly 'token-file'?: string | undefined
}

/** Reads where a platform is, and the token for it. */
export function readAddress(
  { url = '', 'token-file': file }: GivenAddress,
  source: EnvSource,
  wrong: Refusal,
): Address {
  const given = url || (source['PLATFORM_URL'] ?? '')
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    throw wrong(`--url is the address of the platform, https://HOST, not ${JSON.stringify(given)}.`)
  }
  const { PLATFORM_API_TOKEN, PLATFORM_TOKEN = '' } = source
  const token =
    file === undefined
      ? PLATFORM_API_TOKEN || PLATFORM_TOKEN
      : guarded(wrong, () => readFileSync(file, 'utf8').trim())
  if (!/^[\x21-\x7e]{1,500}$/.test(token)) {
    throw wrong('Put a token of your organization into PLATFORM_API_TOKEN, or name --token-file.')
  }
  return { url: given.replace(/\/+$/, ''), token }
}
