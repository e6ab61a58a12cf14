import { setTimeout as delay } from 'node:timers/promises'
import * as v from 'valibot'
import { databaseEnv } from '../../shared/postgres/address.ts'
import type { TurnSession } from '../store/roll-ups/write-noted.ts'
import { AppError } from '../../shared/errors.ts'
import { optional, readEnv, text } from '../../shared/env.ts'
import { ddlAddress, ddlEnv } from '../store/ddl-address.ts'
import { loadPrices } from '../../shared/prices/load-prices.ts'
import { openTurns, startRebuild, takeTurn } from '../store/roll-ups/roll-up-turn.ts'
import { readSpansAgain } from '../store/roll-ups/read-again.ts'
import { readArguments } from './options.ts'
import type { Command } from './command.ts'

const USAGE = `Usage: npm run --silent collector -- rebuild [options]
       node build/collector/main.js rebuild [options]

Empties the roll-ups (the tables traces and usage_hourly) and makes them anew from the spans: after
a change of COLLECTOR_PRICES_FILE, so that it counts for past calls too, or after an upgrade that
reads more of what libraries send: columns of spans that are empty are filled first. Spans are taken
all the while; a trace is in the list again once its day was rolled up, the latest day first. When
it is cut off then, the running collector does the rest. It needs the database and prices of the
collector's environment.

  --help              print this
`

const rebuildEnv = v.object({ ...databaseEnv, ...ddlEnv, COLLECTOR_PRICES_FILE: optional(text()) })

/** `main.js rebuild`: ends when the roll-ups are those of all spans. */
export const rebuildCommand: Command = async (args, source, output) => {
  if (readArguments(args, {}, USAGE).help) return output.out(USAGE)
  const env = readEnv(rebuildEnv, source)
  const session = await openTurns(ddlAddress(env), await loadPrices(env.COLLECTOR_PRICES_FILE))
  try {
    await refuseArchived(session)
    output.out(`${await readSpansAgain(session)} spans have more columns than before.\n`)
    await startRebuild(session)
    output.out('The roll-ups are empty; rolling up the days, the latest first.\n')
    output.out(`${await rollUpAll(session)} traces are rolled up.\n`)
  } finally {
    session.close()
  }
}

/** What lists and totals have of archived days cannot be made from spans that are not there. */
async function refuseArchived(session: TurnSession): Promise<void> {
  const [days] = await session.rows(`
    select count(*) from (
      select day from archived_days union select day from archived_parts
    ) as days`)
  if (days?.[0] === '0') return
  const message =
    `${days?.[0]} days are archived: their spans are in files, and lists and totals would lose ` +
    'these days. They cannot be made anew while there are any.'
  throw new AppError('conflict', message)
}

/** Ends: each turn takes some of what is left, and nothing adds days. */
async function rollUpAll(session: TurnSession): Promise<number> {
  let traces = 0
  for (let isDone = false; !isDone;) {
    const turn = await takeTurn(session)
    traces += turn.traces
    isDone = turn.isDone
    if (!turn.isLeader) await delay(OTHERS_TURN_MS)
  }
  return traces
}

const OTHERS_TURN_MS = 100
