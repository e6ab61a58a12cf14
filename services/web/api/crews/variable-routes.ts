import type { Hono } from 'hono'
import * as v from 'valibot'
import {
  variableNameProblem,
  variableValueProblem,
} from '../../../platform/crews/crew-variable-fields.ts'
import {
  createVariableSeals,
  deleteCrewVariable,
  listCrewVariables,
  setCrewVariable,
} from '../../../platform/crews/crew-variables.ts'
import { AppError } from '../../../shared/errors.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { checked } from '../../http/parse-body.ts'
import { variableDocument } from './documents.ts'
import { getOwnCrew, readBodyAs } from './own-crew.ts'
import { recordChange } from './record-change.ts'

/** What a client sets a variable to. */
export const variableBody = v.strictObject({
  value: checked(variableValueProblem),
  secret: v.optional(v.boolean('must be true or false'), false),
})

/** The environment of crews that are made from sources. */
export function variableRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql, config } = deps
  const api = createApi(deps)
  const seals = createVariableSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  const path = '/automations/:automationId/variables'

  api.get('viewer', path, async (c) => {
    const variables = await listCrewVariables(sql, await getOwnCrew(c, sql))
    return c.json({ variables: variables.map(variableDocument) })
  })

  api.put('editor', `${path}/:name`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const name = c.req.param('name') ?? ''
    const problem = variableNameProblem(name)
    if (problem) throw new AppError('unprocessable', `The name of a variable ${problem}.`)
    const { value, secret } = await readBodyAs(c, variableBody)
    const key = { deploymentId: crew.deploymentId, name }
    const stored = secret ? { sealedValue: seals.seal(value, key) } : { value }
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_variable_set',
      change: (tx) => setCrewVariable(tx, key, stored),
      after: { name, secret },
    })
    return c.body(null, 204)
  })

  api.delete('editor', `${path}/:name`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const name = c.req.param('name') ?? ''
    const key = { deploymentId: crew.deploymentId, name }
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_variable_deleted',
      async change(tx) {
        if (await deleteCrewVariable(tx, key)) return
        throw new AppError('not_found', 'The crew has no variable of that name.')
      },
      after: { name },
    })
    return c.body(null, 204)
  })
  return api.routes()
}
