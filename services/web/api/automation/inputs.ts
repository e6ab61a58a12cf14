import { getDefinition } from '../../../platform/automations/automations.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { describeAutomation } from '../openapi/describe-automation.ts'
import type { ApiRoute } from './api-route.ts'

/** Describes the API of the automation, with the types of its inputs, as OpenAPI. */
export const openApiRoute: ApiRoute = {
  method: 'GET',
  path: '/openapi.json',
  async answer(c, { sql, config }) {
    const { automation } = c.var
    const fields = inputFields(await getDefinition(sql, automation))
    return c.json(describeAutomation(config, automation, fields))
  },
}

/** Lists the inputs that the automation needs. */
export const inputsRoute: ApiRoute = {
  method: 'GET',
  path: '/inputs',
  async answer(c, { sql }) {
    const fields = inputFields(await getDefinition(sql, c.var.automation))
    return c.json({ inputs: fields.map(({ name }) => name), fields })
  },
}
