import type { Context } from 'hono'
import { listReceiptKeys } from '../../../platform/receipts/receipt-keys.ts'
import type { SignedHead } from '../../../platform/receipts/receipt-documents.ts'
import {
  findConsistency,
  findEntryReceipt,
  findReceipt,
  listHeads,
} from '../../../platform/receipts/receipts.ts'
import { AppError } from '../../../shared/errors.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { operation } from '../openapi/operation.ts'
import { paged, pagesOf, readNumber, readNumberPage } from './requests.ts'

const sizeSchema = { ...s.integer, minimum: 1 }
const signed = {
  head: s.closed({
    format: s.words(['crew-platform-tree-head/1']),
    log: s.uuid,
    size: sizeSchema,
    root: s.text,
    at: s.moment,
    previous: s.say(s.perhapsText, 'The SHA-256 of the head before.'),
    key: s.say(s.text, 'The SHA-256 of the public key.'),
  }),
  signature: s.say(s.text, 'Ed25519 over the canonical JSON.'),
}
const head = s.document('ReceiptHead', signed, (row: SignedHead) => row)
const keys = s.list(
  s.closed({
    statement: s.closed({
      format: s.words(['crew-platform-key-succession/1']),
      log: s.uuid,
      key: s.say(s.text, 'SubjectPublicKeyInfo in hexadecimal digits.'),
      previous: s.perhapsText,
      at: s.moment,
    }),
    signature: s.say(s.perhapsText, 'Of the key before; null: it was lost.'),
  }),
)
const proof = s.list(s.text)
const receiptOf = (name: string, what: string, opened: Record<string, object>) =>
  s.document(name, {
    format: s.words(['crew-platform-receipt/1']),
    leaf: { type: 'object', description: 'What was hashed, as canonical JSON.' },
    index: { ...s.integer, minimum: 0 },
    proof,
    ...signed,
    keys,
    opened: s.orNull(s.closed({ salt: s.text, ...opened }), `Null once the ${what} is deleted.`),
  })
const receipt = receiptOf('Receipt', 'run', {
  starter: s.orNull(s.closed({ id: s.perhapsText, name: s.perhapsText })),
})
const entryReceipt = receiptOf('AuditReceipt', 'entry', {
  actor: s.closed({ id: s.perhapsText, name: s.text }),
  facts: s.say({ type: 'object' }, 'What was changed, as the leaf has it hashed.'),
})
const consistency = s.document('ReceiptConsistency', {
  format: s.words(['crew-platform-consistency/1']),
  first: head,
  second: head,
  proof,
  keys,
})
const LIST = 'ReceiptHeadList'
const heads = {
  ...pagesOf([LIST, 'heads'], head, ({ head: { size } }) => size),
  ...s.named(LIST, s.closed({ heads: s.list(head), keys, next_cursor: s.nextCursor })),
}

const sizeOf = (name: string, description: string) =>
  s.parameter(name, 'query', { schema: sizeSchema, description })
const ofHead = sizeOf('size', 'Of the head that it leads to; the newest.')
const get = operation('getReceipt', 'The receipt of a run that has ended', {
  parameters: [ofHead],
  200: receipt,
  400: 'A parameter of the query is not valid.',
  404: 'The organization has no such run, or no head has it yet.',
})
const getOfEntry = operation('getAuditReceipt', 'The receipt of an entry of the audit', {
  parameters: [ofHead],
  200: entryReceipt,
  400: 'A parameter of the query is not valid.',
  404: 'The organization has no such entry, or no head has it yet.',
})
const list = operation('listReceiptHeads', 'The signed heads, largest first', {
  ...paged,
  200: heads,
})
const prove = operation('getReceiptConsistency', 'The proof that a later head continues this one', {
  parameters: [sizeOf('with', 'The size of the later head; the newest.')],
  200: consistency,
  400: 'A parameter of the query is not valid.',
  404: 'No head of one of these sizes was signed.',
})

/** The receipts of runs and of the audit of an organization; signed heads name no tenant. */
export function designerReceiptRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps

  api.get('viewer', ['/executions/:kickoffId/receipt', get], async (c) => {
    const { organizationId } = c.var.caller
    const runId = c.req.param('kickoffId') ?? ''
    const found = await findReceipt(sql, { organizationId, runId, size: readSize(c, 'size') })
    if (found) return c.json(found)
    throw new AppError('not_found', 'Your organization has no such run, or no receipt of it yet.')
  })

  api.get('admin', ['/audit/:entryId/receipt', getOfEntry], async (c) => {
    const { organizationId } = c.var.caller
    const entryId = c.req.param('entryId') ?? ''
    const size = readSize(c, 'size')
    const found = await findEntryReceipt(sql, { organizationId, entryId, size })
    if (found) return c.json(found)
    throw new AppError('not_found', 'Your organization has no such entry, or no receipt of it yet.')
  })

  api.get('viewer', ['/receipt-heads', list], async (c) => {
    const page = await heads.read(readNumberPage(c), ({ limit, cursor: below }) =>
      listHeads(sql, { below, limit }),
    )
    return c.json({ ...page, keys: await listReceiptKeys(sql) })
  })

  api.get('viewer', ['/receipt-heads/:size/consistency', prove], async (c) => {
    const first = readNumber(c, 'size')
    const found = await findConsistency(sql, { first, second: readSize(c, 'with') })
    if (found) return c.json(found)
    throw new AppError('not_found', 'No head of one of these sizes was signed.')
  })
}

function readSize(c: Context, name: string): number | undefined {
  const [text, ...more] = c.req.queries(name) ?? []
  if (text === undefined) return undefined
  if (more.length === 0 && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new AppError('invalid_request', `${name} is the size of a head, given once.`)
}
