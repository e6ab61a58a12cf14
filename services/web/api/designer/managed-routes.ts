import * as v from 'valibot'
import { MANAGER_NAME, setManaged } from '../../../platform/managed-resources.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { parseBody } from '../../http/parse-body.ts'
import * as s from '../openapi/parts.ts'
import { describing, jsonBody } from '../openapi/operation.ts'

/** As many as documents are applied at a time. */
const ROWS_MAX = 10_000

/** What a client says that files keep. */
const managed = v.strictObject({
  resources: v.pipe(
    v.array(
      v.strictObject({
        kind: v.pipe(v.string('must be a text'), v.regex(/^[a-z][a-z_]{0,62}$/, 'is not a kind')),
        id: v.pipe(v.string('must be a text'), v.regex(/^[\w-]{1,100}$/, 'is not an id')),
      }),
      'must be a list',
    ),
    v.maxLength(ROWS_MAX, `must have at most ${ROWS_MAX} resources`),
  ),
})
const manager = v.strictObject({
  managed_by: v.pipe(
    v.string(),
    v.regex(MANAGER_NAME, 'must be 1 to 100 letters, digits and .:/@_-'),
  ),
})

const managedBody = jsonBody('ManagedRequest', managed, {
  example: { resources: [{ kind: 'llm_connection', id: '7' }] },
  bytesMax: 2 << 20,
})
const managedDocument = s.document('Managed', {
  managed_by: s.text,
  begun: s.say(s.integer, 'The resources that were not managed by it before.'),
  ended: s.say(s.integer, 'The resources that are not managed by it any more.'),
})
const operation = describing({ tag: 'Platform' })
const set = operation('setManagedResources', 'Mark the resources that files keep', {
  description:
    'These and no others are managed by that name from then on. Their pages say so, and ' +
    'their answers have `managed_by`; they may be changed as before.',
  parameters: [
    s.parameter('manager', 'path', {
      description: 'The name of what applies the files.',
      schema: { type: 'string', pattern: MANAGER_NAME.source },
    }),
  ],
  body: managedBody,
  200: ['How many marks begin and end.', managedDocument],
  409: 'There are too many.',
})

/** Marks the resources that files keep. */
export function managedRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)

  api.put('admin', ['/managed/:manager', set], async (c) => {
    const { organizationId } = c.var.caller
    const { managed_by: managedBy } = parseBody(manager, { managed_by: c.req.param('manager') })
    const { resources: rows } = await managedBody.read(c)
    const marks = await audited(
      c.var,
      (tx) => setManaged(tx, { organizationId, managedBy, rows }),
      (counts) =>
        counts.begun + counts.ended === 0
          ? undefined
          : {
              action: 'managed_resources_set',
              target: { kind: 'managed_resources', id: managedBy },
              after: counts,
            },
    )
    return c.json(managedDocument.of({ managedBy, ...marks }))
  })
}
