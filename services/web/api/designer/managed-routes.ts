import type { Hono } from 'hono'
import * as v from 'valibot'
import { MANAGER_NAME, setManaged } from '../../../platform/managed-resources.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { parseBody } from '../../http/parse-body.ts'

const BODY_BYTES_MAX = 2 << 20
/** As many as documents are applied at a time. */
const ROWS_MAX = 10_000

/** What a client says that files keep. */
export const managed = v.strictObject({
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

/** Marks the resources that files keep. */
export function managedRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)

  api.put('admin', '/managed/:manager', async (c) => {
    const { organizationId } = c.var.caller
    const { managed_by: managedBy } = parseBody(manager, { managed_by: c.req.param('manager') })
    const { resources: rows } = parseBody(managed, await readJson(c.req.raw, BODY_BYTES_MAX))
    const { begun, ended } = await audited(
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
    return c.json({ managed_by: managedBy, begun, ended })
  })
  return api.routes()
}
