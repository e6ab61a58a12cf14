import * as v from 'valibot'
import {
  VARIABLE_NAME,
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
import { trueOrFalse } from '../../../shared/schemas.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { checked } from '../../http/parse-body.ts'
import { jsonBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { variableDocument } from './documents.ts'
import { BODY_BYTES_MAX, changing, getOwnCrew, operation } from './own-crew.ts'
import { recordChange } from './record-change.ts'

/** What a client sets a variable to. */
const variableBody = jsonBody(
  'CrewVariableRequest',
  v.strictObject({
    value: checked(variableValueProblem),
    secret: v.optional(trueOrFalse, false),
  }),
  { example: { value: 'eu-north-1' }, bytesMax: BODY_BYTES_MAX },
)
const variables = s.document('CrewVariables', { variables: s.list(variableDocument) })
const parameters = [
  s.parameter('name', 'path', { schema: { ...s.text, pattern: VARIABLE_NAME.source } }),
]

const list = operation('listVariables', 'The variables of the next deployment', { 200: variables })
const set = changing('setVariable', 'Set a variable for the next deployment', {
  parameters,
  body: variableBody,
  204: 'It is set.',
})
const remove = changing('deleteVariable', 'Delete a variable for the next deployment', {
  parameters,
  204: 'It is deleted.',
})

/** The environment of crews that are made from sources. */
export function variableRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql, config } = deps
  const seals = createVariableSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  const path = '/automations/:automationId/variables'

  api.get('viewer', [path, list], async (c) => {
    const found = await listCrewVariables(sql, await getOwnCrew(c, sql))
    return c.json({ variables: found.map(variableDocument.of) })
  })

  api.put('editor', [`${path}/:name`, set], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const name = c.req.param('name') ?? ''
    const problem = variableNameProblem(name)
    if (problem) throw new AppError('unprocessable', `The name of a variable ${problem}.`)
    const { value, secret } = await variableBody.read(c)
    const key = { deploymentId: crew.deploymentId, name }
    const stored = secret ? { sealedValue: seals.seal(value, key) } : { value }
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_variable_set',
      change: (tx) => setCrewVariable(tx, key, stored),
      after: { name, secret },
    })
    return c.body(null, 204)
  })

  api.delete('editor', [`${path}/:name`, remove], async (c) => {
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
}
