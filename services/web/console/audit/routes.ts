import type { Context, Hono } from 'hono'
import { entriesWithReceipt, findEntryReceipt } from '../../../platform/receipts/receipts.ts'
import { exportAudit, listAudit } from '../../../platform/audit/audit-list.ts'
import type { AuditFilter, ListedEntry } from '../../../platform/audit/audit-list.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { toByteStream } from '../../../shared/http/byte-stream.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { readDay } from '../../../shared/query-terms.ts'
import { readText } from '../frame/lists/filter-bar.ts'
import { readPageRequest } from '../frame/lists/page-request.ts'
import { auditPage } from './page.ts'
import type { AuditQuery } from './page.ts'
import { createRoom } from '../frame/room.ts'

/** The time in which a reader has to take a piece of an export. */
const READ_MS = 60_000

/** Serves the audit of an organization, and to administrators of the platform its own. */
export function auditRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, log } = deps
  const room = createRoom(deps)

  room.page('admin', '/audit', async (c) => {
    const query = readQuery(c)
    const request = readPageRequest(c, (text) => /^[1-9]\d{0,17}$/.test(text))
    const page = await listAudit(sql, toFilter(c, query), request)
    const receipts = await entriesWithReceipt(
      sql,
      page.items.map(({ id }) => id),
    )
    return c.html(auditPage({ session: c.var.session, query, page, request, receipts }))
  })

  room.page('admin', '/audit/:entryId/receipt', async (c) => {
    const { organizationId } = toFilter(c, readQuery(c))
    const entryId = c.req.param('entryId') ?? ''
    const receipt = await findEntryReceipt(sql, { organizationId, entryId })
    if (!receipt) throw new AppError('not_found', 'This entry has no receipt yet.')
    return c.body(`${JSON.stringify(receipt, null, 2)}\n`, 200, {
      'content-type': 'application/json',
      'content-disposition': `attachment; filename="receipt-audit-${entryId}.json"`,
    })
  })

  room.page('admin', '/audit-export', (c) => {
    const lines = toLines(sql, toFilter(c, readQuery(c)))
    const body = toByteStream(lines, {
      timeoutMs: READ_MS,
      isForEachPiece: true,
      onEnd(failure) {
        if (failure) log.warn({ message: failure.message }, 'an export of the audit was cut off')
      },
    })
    const name = `audit-${new Date().toISOString().slice(0, 10)}.ndjson`
    return new Response(body, {
      headers: {
        'content-type': 'application/x-ndjson',
        'content-disposition': `attachment; filename="${name}"`,
      },
    })
  })

  return room.routes
}

function readQuery(c: Context<SignedIn>): AuditQuery {
  const text = (name: string): string | undefined => readText(c.req.query(name))
  const outcome = c.req.query('outcome')
  const isOfPlatform = c.req.query('of') === 'platform'
  return {
    who: text('who'),
    action: text('action'),
    target: text('target'),
    outcome: outcome === 'done' || outcome === 'refused' ? outcome : undefined,
    since: readDay(c.req.query('since')),
    until: readDay(c.req.query('until')),
    of:
      isOfPlatform && c.var.session.user.roles.includes('platform-admin') ? 'platform' : undefined,
  }
}

function toFilter(c: Context<SignedIn>, { outcome, of, ...query }: AuditQuery): AuditFilter {
  return {
    ...query,
    organizationId: of === 'platform' ? null : c.var.session.user.organizationId,
    refused: outcome === undefined ? undefined : outcome === 'refused',
  }
}

async function* toLines(
  sql: Database,
  filter: AuditFilter,
): AsyncGenerator<string, void, undefined> {
  for await (const entries of exportAudit(sql, filter)) {
    yield entries.map((entry) => `${JSON.stringify(toWire(entry))}\n`).join('')
  }
}

const toWire = (entry: ListedEntry) => ({
  id: entry.id,
  at: entry.at,
  actor: { kind: entry.actorKind, id: entry.actorId, name: entry.actorName },
  action: entry.action,
  refused: entry.refused,
  target: { kind: entry.targetKind, id: entry.targetId, name: entry.targetName },
  before: entry.before,
  after: entry.after,
  address: entry.address,
  request_id: entry.requestId,
})
