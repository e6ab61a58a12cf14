import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { FIXABLE_CODES } from '../../shared/fixable-codes.ts'
import type { FixableCode } from '../../shared/fixable-codes.ts'
import { openDisposable } from '../../shared/postgres/disposable-database.ts'
import type { DisposableDatabase } from '../../shared/postgres/disposable-database.ts'
import { sqlState } from '../../shared/postgres/failures.ts'
import { ask } from '../ask.ts'
import { readDatabases } from '../databases.ts'
import { openCluster } from '../kubernetes/cluster.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import { plain } from '../print.ts'
import type { Surroundings } from '../wait.ts'
import { nothing } from './fix.ts'
import type { Change, FixContext, Undo } from './fix.ts'
import { FIXES } from './list.ts'
import type { FixCommand } from './options.ts'
import { findFixable, stillHas } from './verdict.ts'
import type { Findings } from './verdict.ts'

/** Between two reports, which are not for polling. */
const PAUSE_MS = 10_000
const LIMITS = { max: 1, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 }
const EXIT = { verified: 0, planned: 1, not_applied: 1, failed: 2, unverified: 2 } as const
const NO_REPORT = 3

interface Item {
  readonly code: FixableCode
  /** Those that had the code. */
  readonly components: readonly string[]
  readonly changes: readonly Change[]
  /** `unverified`: no report could say whether it helped. */
  state: keyof typeof EXIT
  reason: string
}

/**
 * Fixes what the report of a platform has: plans, asks, applies, verifies by the report, and takes
 * back what did not help. Raises `invalid_request` for wrong use.
 */
export async function runFix(
  command: FixCommand,
  env: EnvSource,
  surroundings: Surroundings,
): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  if (!command.isConfirmed && !command.isDryRun && !surroundings.confirm) {
    throw new AppError('invalid_request', 'No terminal to ask at: pass --yes or --dry-run.')
  }
  const { report, problem } = await ask(command.url, command)
  if (!report && command.only.length === 0) {
    const stdout = `${plain(command.url)}\n  ${plain(problem)} --only CODE fixes without it.\n`
    return { exitCode: NO_REPORT, stdout }
  }
  const { context, close } = openAccess(command, env)
  try {
    const items = await planAll(command.only, context, report && findFixable(report))
    await carryOut(items, command, surroundings)
    const exitCode = Math.max(0, ...items.map(({ state }) => EXIT[state]))
    // JSON leaves functions out.
    const json = command.json && `${JSON.stringify({ fixes: items }, null, 2)}\n`
    return { exitCode, stdout: json || toText(items) }
  } finally {
    await close()
  }
}

/** The operator's own access, opened where a plan asks for it. */
function openAccess(command: FixCommand, env: EnvSource) {
  const databases = new Map<string, DisposableDatabase>()
  let cluster: Promise<Cluster> | undefined
  const context: FixContext = {
    ...command,
    cluster: () => (cluster ??= openCluster(command, env)),
    database(which) {
      const { [which]: address } = readDatabases(env)
      if (!address) {
        const name = which === 'main' ? 'DATABASE_URL' : 'COLLECTOR_DATABASE_URL'
        throw new AppError('invalid_request', `${name} is not set: give it the owner's login.`)
      }
      const opened = databases.get(which) ?? openDisposable(address, { name: 'doctor', ...LIMITS })
      databases.set(which, opened)
      return opened.sql
    },
  }
  const close = () => Promise.all([...databases.values()].map((each) => each.dispose()))
  return { context, close }
}

async function planAll(
  only: readonly FixableCode[],
  context: FixContext,
  findings: Findings | undefined,
): Promise<readonly Item[]> {
  const isWanted = (code: FixableCode): boolean | undefined =>
    only.length > 0 ? only.includes(code) : findings?.has(code)
  const items: Item[] = []
  for (const code of FIXABLE_CODES.filter(isWanted)) {
    const components = findings?.get(code) ?? []
    const item = { code, components, changes: [], reason: '' }
    const plan =
      !findings || components.length > 0
        ? FIXES[code]
        : () => Promise.reject(nothing('The report does not have it.'))
    items.push(
      await plan(context).then(
        (changes) => ({ ...item, changes, state: 'planned' as const }),
        (thrown: unknown) => ({ ...item, state: 'not_applied', reason: toError(thrown).message }),
      ),
    )
  }
  return items
}

function settle(items: readonly Item[], state: Item['state'], reason = ''): void {
  for (const item of items) Object.assign(item, { state, reason })
}

/** Asks, applies, verifies and takes back, as far as it is to. */
async function carryOut(
  items: readonly Item[],
  command: FixCommand,
  surroundings: Surroundings,
): Promise<void> {
  const planned = items.filter(({ state }) => state === 'planned')
  if (command.isDryRun || planned.length === 0) return
  surroundings.say(toText(items))
  if (!command.isConfirmed && !(await surroundings.confirm?.('Make these changes?'))) {
    return settle(planned, 'not_applied', 'It was not confirmed.')
  }
  const undos = new Map<string, Undo>()
  for (const item of planned) await applyItem(item, undos)
  const applied = planned.filter(({ state }) => state === 'unverified')
  if (applied.length > 0) await verify(applied, command, surroundings)
  await takeBack(planned, undos)
}

/** Two codes may want the same change, which is made once. */
const keyOf = ({ what, to }: Change): string => `${what}: ${to}`

async function applyItem(item: Item, undos: Map<string, Undo>): Promise<void> {
  settle([item], 'unverified')
  for (const change of item.changes) {
    if (undos.has(keyOf(change))) continue
    try {
      undos.set(keyOf(change), await change.apply())
    } catch (thrown) {
      const isOwn = thrown instanceof AppError && thrown.code !== 'unavailable'
      // A statement that PostgreSQL refused is rolled back.
      const isKnown = isOwn || sqlState(thrown) !== undefined
      const isPart = item.changes.some((each) => undos.has(keyOf(each)))
      const doubt = isKnown ? '' : ` Whether ${change.what} was changed is not known: look at it.`
      const reason = `${toError(thrown).message}${doubt}`
      return settle([item], isKnown && !isPart ? 'not_applied' : 'failed', reason)
    }
  }
}

/** Asks for reports until none has the codes, or the time is over. */
async function verify(
  items: readonly Item[],
  command: FixCommand,
  { say, sleep, now }: Surroundings,
): Promise<void> {
  const started = now()
  for (;;) {
    const { report, problem = 'its check could not be made' } = await ask(command.url, command)
    for (const item of items) {
      const still = report && stillHas(report, item.code, item.components)
      if (still === false) settle([item], 'verified')
      else if (still) settle([item], 'failed', 'The report still has it.')
      else settle([item], 'unverified', `No report says whether it helped: ${problem}.`)
    }
    const left = command.waitMs - (now() - started)
    const open = items.filter(({ state }) => state !== 'verified')
    if (open.length === 0 || left <= 0) return
    say(`waiting for a report without ${open.map(({ code }) => code).join(', ')}\n`)
    await sleep(Math.min(PAUSE_MS, left))
  }
}

/** Takes back the changes that no verified code has, the last one first. */
async function takeBack(items: readonly Item[], undos: Map<string, Undo>): Promise<void> {
  const kept = items.filter(({ state }) => state === 'verified').flatMap(({ changes }) => changes)
  for (const [key, undo] of [...undos].toReversed()) {
    if (kept.some((change) => keyOf(change) === key)) continue
    const said = await undo().then(
      () => 'Taken back',
      (thrown: unknown) => `NOT taken back, ${toError(thrown).message}`,
    )
    for (const item of items) {
      const isOwn = item.changes.some((change) => keyOf(change) === key)
      if (isOwn) item.reason = `${item.reason} ${said}: ${key}.`
    }
  }
}

const toText = (items: readonly Item[]): string =>
  items.length > 0 ? items.map(itemText).join('') : 'The report has no code that this can fix.\n'

function itemText({ code, state, reason, changes }: Item): string {
  const lines = changes.map(({ what, from, to, right }) => `${what}: ${from} → ${to} (${right})`)
  const all = [`${code}: ${state}`, ...[...lines, reason].map((line) => line && `  ${line}`)]
  return all.map((line) => line && `${plain(line)}\n`).join('')
}
