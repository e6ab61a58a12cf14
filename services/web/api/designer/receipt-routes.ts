import type { Context, Hono } from 'hono'
import { listReceiptKeys } from '../../../platform/receipts/receipt-keys.ts'
import { findConsistency, findReceipt, listHeads } from '../../../platform/receipts/receipts.ts'
import { AppError } from '../../../shared/errors.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { readNumber, readNumberPage, toPage } from './requests.ts'

/** The receipts of the runs of an organization, and the signed heads, which name no tenant. */
export function designerReceiptRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)

  api.get('viewer', '/executions/:kickoffId/receipt', async (c) => {
    const { organizationId } = c.var.caller
    const runId = c.req.param('kickoffId') ?? ''
    const receipt = await findReceipt(sql, { organizationId, runId, size: readSize(c, 'size') })
    if (receipt) return c.json(receipt)
    throw new AppError('not_found', 'Your organization has no such run, or no receipt of it yet.')
  })

  api.get('viewer', '/receipt-heads', async (c) => {
    const page = readNumberPage(c)
    const { limit, cursor: below } = page
    const { items, next_cursor } = toPage(await listHeads(sql, { below, limit: limit + 1 }), page, {
      show: (signed) => signed,
      cursorOf: ({ head }) => head.size,
    })
    return c.json({ heads: items, keys: await listReceiptKeys(sql), next_cursor })
  })

  api.get('viewer', '/receipt-heads/:size/consistency', async (c) => {
    const first = readNumber(c, 'size')
    const proof = await findConsistency(sql, { first, second: readSize(c, 'with') })
    if (proof) return c.json(proof)
    throw new AppError('not_found', 'No head of one of these sizes was signed.')
  })

  return api.routes()
}

function readSize(c: Context, name: string): number | undefined {
  const [text, ...more] = c.req.queries(name) ?? []
  if (text === undefined) return undefined
  if (more.length === 0 && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new AppError('invalid_request', `${name} is the size of a head, given once.`)
}
