import { constants } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { createLog } from '../../shared/log.ts'
import { waitForDatabase } from '../../shared/postgres/wait-for-database.ts'
import { readParts } from '../backup/parts.ts'
import { guarded, refusalWith } from '../resources/options.ts'
import { proveUpgrade } from './prove-upgrade.ts'
import { isSignedVerdict, renderVerdict, signVerdict } from './verdict.ts'

const USAGE = `Usage: npm run task -- upgrade:prove [options]

Rehearses the upgrade to this version on your own data: restores a backup beside the original, which
it only reads, migrates the copy, and drops it. It says of each migration how long it took, what it
wrote, which locks it held on tables that are in use, and whether anything was lost. Its variables
are those of backup:create; the user of the database needs CREATEDB.

  --backup NAME      a name of backup:list [latest]
  --only NAME        main or collector [both]
  --observe SECONDS  how long to watch which tables are in use [20]
  --lock-ms MS       how long statements on tables in use may wait [2000]
  --minutes MINUTES  how long the migrations of a database may take [30]
  --free-gib GIB     the room on the volume of the server, where it does not say it itself
  --json             print the signed verdict as one line of JSON
  --out FILE         write the signed verdict to a file, too
  --check FILE       only say whether a verdict is signed with this passphrase, and unchanged
  --help             print this

Exit code: 0 when it is proven, or nothing is pending; 2 when it is refused, with the reasons, or a
verdict that is checked does not hold; 1 when it could not be tried.
`

const OPTIONS = {
  backup: { type: 'string', default: 'latest' },
  only: { type: 'string' },
  observe: { type: 'string', default: '20' },
  'lock-ms': { type: 'string', default: '2000' },
  minutes: { type: 'string', default: '30' },
  'free-gib': { type: 'string' },
  json: { type: 'boolean', default: false },
  out: { type: 'string' },
  check: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

const REFUSED = 2

/** The task that rehearses an upgrade. */
export const PROVE_TASK = {
  summary:
    '[--backup NAME] [--only NAME]: rehearse the upgrade on a backup of your data; see --help',
  async run(source: EnvSource, args: readonly string[]): Promise<number> {
    const request = readArguments(args)
    if (request === undefined) return print(USAGE)
    const { archive, databases, config } = readParts(source)
    const { stderr: destination } = process
    const log = createLog({ name: 'upgrade', level: config.LOG_LEVEL, destination })
    const { passphrase } = archive
    if (request.check !== undefined) {
      const holds = await isSignedVerdict(await readDocument(request.check), passphrase)
      print(`${request.check} is ${holds ? '' : 'not '}a verdict signed with this passphrase\n`)
      return holds ? 0 : REFUSED
    }
    if (request.out !== undefined) await checkWritable(request.out)
    const timeoutMs = config.DATABASE_WAIT_SECONDS * 1000
    const { backup, only, limits, freeBytes } = request
    for (const { name, address } of databases) {
      if (only === undefined || name === only) await waitForDatabase(address, { timeoutMs, log })
    }
    const plan = { archive, backup, databases, only, limits, freeBytes, log }
    const document = await signVerdict(await proveUpgrade(plan), passphrase)
    const json = `${JSON.stringify(document)}\n`
    print(request.json ? json : renderVerdict(document))
    if (request.out !== undefined) await writeFile(request.out, json, { mode: 0o600 })
    return document.verdict.verdict === 'refused' ? REFUSED : 0
  },
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}

const wrong = refusalWith(USAGE)

function readArguments(args: readonly string[]) {
  const { values } = guarded(wrong, () => parseArgs({ args: [...args], options: OPTIONS }))
  const { help, json, out, check, backup } = values
  if (help) return undefined
  const only = (['main', 'collector'] as const).find((name) => name === values.only)
  if (only === undefined && values.only !== undefined) {
    throw wrong(`--only is ${JSON.stringify(values.only)}; it may be main or collector.`)
  }
  const limits = {
    observeSeconds: readNumber('observe', values.observe, 3600),
    lockMs: readNumber('lock-ms', values['lock-ms'], 3_600_000),
    minutes: readNumber('minutes', values.minutes, 10_080),
  }
  const gib = values['free-gib']
  const freeBytes = gib === undefined ? undefined : readNumber('free-gib', gib, 1e6) * 2 ** 30
  return { backup, only, json, out, check, limits, freeBytes }
}

function readNumber(name: string, given: string, most: number): number {
  const number = /^\d{1,7}$/.test(given) ? Number(given) : Infinity
  if (number <= most) return number
  throw wrong(`--${name} is ${JSON.stringify(given)}; it may be 0 to ${most}, in whole numbers.`)
}

async function readDocument(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (thrown) {
    throw new AppError('invalid_request', `${path} cannot be read: ${toError(thrown).message}`)
  }
}

/** Before a rehearsal of hours, rather than after it. */
async function checkWritable(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK)
  } catch (thrown) {
    throw new AppError('invalid_request', `--out cannot be written: ${toError(thrown).message}`)
  }
}
