import {
  closed,
  integer,
  json,
  list,
  moment,
  nullable,
  paging,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
  uuid,
} from './parts.ts'

const orNull = (of: object) => ({ oneOf: [{ type: 'null' }, of] })
const size = { ...integer, minimum: 1 }
const head = closed({
  format: { ...text, enum: ['crew-platform-tree-head/1'] },
  log: uuid,
  size,
  root: text,
  at: moment,
  previous: nullable('string', { description: 'The SHA-256 of the head before.' }),
  key: { ...text, description: 'The SHA-256 of the public key.' },
})
const signed = { head, signature: { ...text, description: 'Ed25519 over the canonical JSON.' } }
const hashes = list(text)
const keys = list(
  closed({
    statement: closed({
      format: { ...text, enum: ['crew-platform-key-succession/1'] },
      log: uuid,
      key: { ...text, description: 'SubjectPublicKeyInfo in hexadecimal digits.' },
      previous: nullable('string'),
      at: moment,
    }),
    signature: nullable('string', { description: 'Of the key before; null: it was lost.' }),
  }),
)

/** The schemas of receipts. */
export const RECEIPT_SCHEMAS = {
  ReceiptHead: closed(signed),
  ReceiptHeadList: closed({
    heads: list(schema('ReceiptHead')),
    keys,
    next_cursor: nullable('string'),
  }),
  Receipt: closed({
    format: { ...text, enum: ['crew-platform-receipt/1'] },
    leaf: { type: 'object', description: 'What was hashed, as canonical JSON.' },
    index: { ...integer, minimum: 0 },
    proof: hashes,
    ...signed,
    keys,
    opened: {
      ...orNull(
        closed({
          salt: text,
          starter: orNull(closed({ id: nullable('string'), name: nullable('string') })),
        }),
      ),
      description: 'Null once the run is deleted.',
    },
  }),
  ReceiptConsistency: closed({
    format: { ...text, enum: ['crew-platform-consistency/1'] },
    first: schema('ReceiptHead'),
    second: schema('ReceiptHead'),
    proof: hashes,
    keys,
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '400': problem('A parameter of the query is not valid.'),
  '403': problem('A role in the organization, or a scope of the token, that does not allow this.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const sizeOf = (name: string, rest: Record<string, unknown>) =>
  parameter(name, 'query', { schema: size, ...rest })
const reads = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  get: { operationId, tags: ['Designer'], summary, ...rest },
})

/** The paths of receipts. */
export const RECEIPT_PATHS = {
  '/designer/v2/executions/{kickoff_id}/receipt': {
    parameters: [parameter('kickoff_id', 'path')],
    ...reads('getReceipt', 'The receipt of a run that has ended', {
      parameters: [sizeOf('size', { description: 'Of the head that it leads to; the newest.' })],
      responses: {
        '200': json('It.', 'Receipt'),
        ...COMMON,
        '404': problem('The organization has no such run, or no head has it yet.'),
      },
    }),
  },
  '/designer/v2/receipt-heads': reads('listReceiptHeads', 'The signed heads, largest first', {
    parameters: paging,
    responses: { '200': json('A page.', 'ReceiptHeadList'), ...COMMON },
  }),
  '/designer/v2/receipt-heads/{size}/consistency': {
    parameters: [parameter('size', 'path', { schema: size })],
    ...reads('getReceiptConsistency', 'The proof that a later head continues this one', {
      parameters: [sizeOf('with', { description: 'The size of the later head; the newest.' })],
      responses: {
        '200': json('It.', 'ReceiptConsistency'),
        ...COMMON,
        '404': problem('No head of one of these sizes was signed.'),
      },
    }),
  },
}
