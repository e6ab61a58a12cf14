import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { canonicalJson } from '../canonical-json.ts'
import { integer, optional } from '../env.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { isSignedWith, publicKeySchema, signatureSchema } from '../signed-documents.ts'
import type { Database, Queryable } from './database.ts'
import { listPending } from './migrate.ts'
import { readMigrations } from './migration-files.ts'
import type { AppliedMigration, Migration } from './migration-files.ts'

/** The variables of programs that migrate, where an upgrade has to be proven first. */
export const proofEnv = {
  /** The public key of the verdicts of `upgrade:prove`; without it, none is asked for. */
  UPGRADE_PROOF_KEY: optional(publicKeySchema),
  /** Days for which a verdict counts. */
  UPGRADE_PROOF_DAYS: v.optional(integer(1, 365), '7'),
}

const config = v.object(proofEnv)
/** What is asked of verdicts, as programs read it. */
export type ProofConfig = v.InferOutput<typeof config>

/** Verdicts that a database keeps. */
const KEPT = 20
const DAY_MS = 86_400_000

const signedVerdict = v.object({
  verdict: v.looseObject({
    format: v.literal('crew-platform-upgrade-verdict/1'),
    verdict: v.picklist(['proven', 'refused', 'current']),
    at: v.pipe(v.string(), v.isoTimestamp()),
    platform: v.string(),
    databases: v.array(
      v.looseObject({
        name: v.string(),
        from: v.number(),
        to: v.number(),
        rehearsal: v.nullable(
          v.looseObject({ migrations: v.array(v.looseObject({ sha256: v.string() })) }),
        ),
      }),
    ),
    formerPrograms: v.nullable(v.looseObject({ schemas: v.record(v.string(), v.string()) })),
  }),
  key: v.string(),
  signature: signatureSchema,
})

type Verdict = v.InferOutput<typeof signedVerdict>['verdict']

/** What a program is about to do to the schema of a database. */
interface Step {
  readonly from: number
  readonly to: number
  readonly pending: readonly Migration[]
  /** The schema of the program. */
  readonly digest: string
}

/** What is asked of verdicts. */
interface Demand {
  readonly config: ProofConfig
  readonly database: 'main' | 'collector'
  /** The version of the program; undefined: only its schema counts. */
  readonly platform?: string
}

/** Returns what tells the schema of a program from others: its migrations. */
export const schemaDigest = (migrations: readonly AppliedMigration[]): string =>
  createHash('sha256')
    .update(canonicalJson(migrations.map(({ version, checksum }) => [version, checksum])))
    .digest('hex')

/**
 * Raises `precondition_failed` unless a verdict of `upgrade:prove` that the database keeps allows
 * what `migrate` would do: to apply migrations, or to run on a schema that is newer than the
 * program. A new database needs none, nor one with the schema of the program.
 */
export async function requireProof(
  sql: Database,
  folder: URL,
  { log, ...demand }: Demand & { readonly log: Log },
): Promise<void> {
  const { UPGRADE_PROOF_KEY: key, UPGRADE_PROOF_DAYS: days } = demand.config
  if (key === undefined) return
  const step = await findStep(sql, folder)
  if (!step) return
  const documents = await listVerdicts(sql)
  const verdicts = documents
    .flatMap((document) => readVerdict(document, key))
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
  // The newest one about this step counts: what was proven once may be refused on later data.
  const verdict = verdicts.find((each) => isAbout(each, step, demand))
  const problem = verdict
    ? problemOf(verdict, days)
    : explainNone({ count: documents.length, verdicts }, step, demand)
  if (problem !== undefined) throw refusal(step, demand, problem)
  log.info({ proven_at: verdict?.at, from: step.from, to: step.to }, 'the upgrade is proven')
}

async function findStep(sql: Queryable, folder: URL): Promise<Step | undefined> {
  const [table] = await sql<{ isThere: boolean }[]>`
    select to_regclass('schema_migrations') is not null as is_there`
  if (table?.isThere !== true) return undefined
  const { version: from, pending } = await listPending(sql, folder)
  const migrations = await readMigrations(folder)
  const to = migrations.at(-1)?.version ?? 0
  if (from === 0 || (pending.length === 0 && from <= to)) return undefined
  return { from, to, pending, digest: schemaDigest(migrations) }
}

const isGoingBack = ({ from, to }: Step): boolean => from > to

function readVerdict(document: string, key: string): Verdict[] {
  const { success, output } = v.safeParse(signedVerdict, parseJson(document))
  const holds = success && output.key === key && isSignedWith(output.verdict, output.signature, key)
  return holds ? [output.verdict] : []
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isAbout(verdict: Verdict, step: Step, { database, platform }: Demand): boolean {
  const entry = verdict.databases.find(({ name }) => name === database)
  if (!entry) return false
  if (isGoingBack(step)) {
    return entry.to === step.from && verdict.formerPrograms?.schemas[database] === step.digest
  }
  const tried = entry.rehearsal?.migrations ?? []
  return (
    entry.from === step.from &&
    entry.to === step.to &&
    tried.every(({ sha256 }, index) => step.pending[index]?.checksum === sha256) &&
    (platform === undefined || verdict.platform === platform)
  )
}

function problemOf({ verdict, at }: Verdict, days: number): string | undefined {
  if (verdict === 'refused') return `the one of ${at} says that it is refused`
  const age = (Date.now() - Date.parse(at)) / DAY_MS
  if (age <= days) return undefined
  return `the one of ${at} is ${age.toFixed(1)} days old, of at most ${days} (upgrade.proofDays)`
}

interface Found {
  readonly count: number
  readonly verdicts: readonly Verdict[]
}

/** Says why no verdict is about the step. */
function explainNone({ count, verdicts }: Found, step: Step, { database }: Demand): string {
  if (count === 0) return 'the database has none'
  const [newest] = verdicts
  if (!newest) return `none of ${count} is signed with upgrade.proofKey and unchanged`
  const entry = newest.databases.find(({ name }) => name === database)
  const about = entry
    ? `about ${newest.platform}, schema ${entry.from} to ${entry.to}`
    : 'about another database'
  const tried = newest.formerPrograms ? 'other former programs' : 'no former programs'
  return `the newest, of ${newest.at}, is ${about}${isGoingBack(step) ? `, with ${tried}` : ''}`
}

function refusal(step: Step, { database, platform }: Demand, problem: string): AppError {
  const { from, to } = step
  const program = `this program${platform === undefined ? '' : ` (${platform})`}`
  const would = isGoingBack(step)
    ? `${program} knows up to ${to} and would run on it`
    : `${program} would bring it to ${to}`
  const how = isGoingBack(step)
    ? '"upgrade:prove --former-programs DIR --record" of the newer image, DIR with this program'
    : '"upgrade:prove --record" of this image'
  return new AppError(
    'precondition_failed',
    `The ${database} database has schema ${from}, and ${would}. upgrade.requireProof asks for a ` +
      `verdict of upgrade:prove before, and ${problem}. Nothing was changed. Run ${how}, or set ` +
      'upgrade.requireProof to false.',
  )
}

const listVerdicts = async (sql: Queryable): Promise<string[]> =>
  (await hasPlace(sql))
    ? (
        await sql<{ document: string }[]>`
          select document::text from upgrade_verdicts order by id desc limit ${KEPT}`
      ).map(({ document }) => document)
    : []

async function hasPlace(sql: Queryable): Promise<boolean> {
  const [table] = await sql<{ isThere: boolean }[]>`
    select to_regclass('upgrade_verdicts') is not null as is_there`
  return table?.isThere === true
}

/** Raises `schema_mismatch` for a database whose schema has no place for verdicts. */
export async function requirePlaceForVerdicts(sql: Queryable, database: string): Promise<void> {
  if (await hasPlace(sql)) return
  throw new AppError(
    'schema_mismatch',
    `The ${database} database has no table upgrade_verdicts, which 1.13.0 brings: a verdict ` +
      'cannot be recorded there. Leave --record out, and upgrade.requireProof false, until then.',
  )
}

/** Keeps a signed verdict in a database, where `requireProof` finds it, with those before. */
export async function recordVerdict(sql: Database, document: unknown): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      insert into upgrade_verdicts (document) values (${JSON.stringify(document)}::text::json)`
    await tx`
      delete from upgrade_verdicts where id not in (
        select id from upgrade_verdicts order by id desc limit ${KEPT})`
  })
}
