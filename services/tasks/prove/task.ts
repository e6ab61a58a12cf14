import { constants } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { createLog } from '../../shared/log.ts'
import { recordVerdict, requirePlaceForVerdicts } from '../../shared/postgres/upgrade-proof.ts'
import { waitForDatabase } from '../../shared/postgres/wait-for-database.ts'
import { readParts } from '../backup/parts.ts'
import type { Passphrase } from '../backup/sealed-file.ts'
import { guarded, refusalWith } from '../resources/options.ts'
import { use } from './prove-database.ts'
import { hasPrograms } from './programs.ts'
import { proveUpgrade } from './prove-upgrade.ts'
import { isSignedVerdict, renderVerdict, signVerdict, verdictKey } from './verdict.ts'

const USAGE = `Usage: npm run task -- upgrade:prove [options]

Rehearses the upgrade to this version on your own data: restores a backup beside the original, which
it only reads, migrates the copy, and drops it. It says of each migration how long it took, what it
wrote, which locks it held on tables that are in use, and whether anything was lost. Then the
programs of this version read the copy. Its variables are those of backup:create; the user of the
database needs CREATEDB.

  --backup NAME      a name of backup:list [latest]
  --only NAME        main or collector [both]
  --observe SECONDS  how long to watch which tables are in use [20]
  --lock-ms MS       how long statements on tables in use may wait [2000]
  --minutes MINUTES  how long the migrations of a database may take [30]
  --free-gib GIB     the room on the volume of the server, where it does not say it itself
  --former-programs DIR
                     try the programs of the release before on the copy, too: DIR is the
                     directory build of its image, with collector of that image in it
  --json             print the signed verdict as one line of JSON
  --out FILE         write the signed verdict to a file, too
  --record           keep the signed verdict in the databases, where upgrade.requireProof asks
  --check FILE       only say whether a verdict is signed with this passphrase, and unchanged;
                     with --record, keep it
  --print-key        only print the public key of the verdicts, for upgrade.proofKey
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
  'former-programs': { type: 'string' },
  json: { type: 'boolean', default: false },
  out: { type: 'string' },
  record: { type: 'boolean', default: false },
  check: { type: 'string' },
  'print-key': { type: 'boolean', default: false },
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
    const parts = readParts(source)
    const { passphrase } = parts.archive
    if (request.isKeyAsked) return print(`${await verdictKey(passphrase)}\n`)
    const { only } = request
    const wanted = parts.databases.filter(({ name }) => only === undefined || name === only)
    return request.check === undefined
      ? prove(request, { ...parts, caFile: source['NODE_EXTRA_CA_CERTS'] }, wanted)
      : check(request.check, passphrase, request.isRecorded ? wanted : [])
  },
}

type Parts = ReturnType<typeof readParts>

async function prove(
  { backup, only, limits, freeBytes, formerPrograms, ...request }: Request,
  { archive, databases, config, caFile }: Parts & { readonly caFile: string | undefined },
  wanted: Parts['databases'],
): Promise<number> {
  const { stderr: destination } = process
  const log = createLog({ name: 'upgrade', level: config.LOG_LEVEL, destination })
  if (request.out !== undefined) await checkWritable(request.out)
  if (formerPrograms !== undefined && !(await hasPrograms(formerPrograms, 'main'))) {
    throw wrong(`--former-programs is ${JSON.stringify(formerPrograms)}, without tasks/main.js.`)
  }
  const timeoutMs = config.DATABASE_WAIT_SECONDS * 1000
  for (const { name, address } of wanted) {
    await waitForDatabase(address, { timeoutMs, log })
    if (request.isRecorded) await use(address, (sql) => requirePlaceForVerdicts(sql, name))
  }
  const programs = { own: await findOwnPrograms(), former: formerPrograms, caFile }
  const plan = { archive, backup, databases, only, limits, freeBytes, programs, log }
  const document = await signVerdict(await proveUpgrade(plan), archive.passphrase)
  const json = `${JSON.stringify(document)}\n`
  print(request.json ? json : renderVerdict(document))
  if (request.out !== undefined) await writeFile(request.out, json, { mode: 0o600 })
  if (request.isRecorded) await record(document, wanted)
  return document.verdict.verdict === 'refused' ? REFUSED : 0
}

/** The directory of the bundles that this one is among; undefined where sources run. */
async function findOwnPrograms(): Promise<string | undefined> {
  const directory = join(dirname(process.argv[1] ?? ''), '..')
  return (await hasPrograms(directory, 'main')) ? directory : undefined
}

async function check(file: string, by: Passphrase, keepIn: Parts['databases']): Promise<number> {
  const document = await readDocument(file)
  const holds = await isSignedVerdict(document, by)
  if (holds) await record(document, keepIn)
  print(`${file} is ${holds ? '' : 'not '}a verdict signed with this passphrase\n`)
  return holds ? 0 : REFUSED
}

async function record(document: unknown, databases: Parts['databases']): Promise<void> {
  for (const { name, address } of databases) {
    await use(address, async (sql) => {
      await requirePlaceForVerdicts(sql, name)
      await recordVerdict(sql, document)
    })
  }
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}

const wrong = refusalWith(USAGE)

function readArguments(args: readonly string[]) {
  const { values } = guarded(wrong, () => parseArgs({ args: [...args], options: OPTIONS }))
  const { help, json, out, check, backup, record: isRecorded, 'print-key': isKeyAsked } = values
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
  const formerPrograms = values['former-programs']
  const of = { backup, only, limits, freeBytes, formerPrograms }
  return { ...of, json, out, check, isRecorded, isKeyAsked }
}

type Request = NonNullable<ReturnType<typeof readArguments>>

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
