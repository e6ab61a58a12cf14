import { getDefinition } from '../../../platform/automations/automations.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { INPUT_TYPES } from '../../../platform/definitions/input-declarations.ts'
import { describeAutomation } from '../openapi/describe-automation.ts'
import * as s from '../openapi/parts.ts'
import { reading } from './api-route.ts'
import type { ApiRoute } from './api-route.ts'

/** Describes the API of the automation, with the types of its inputs, as OpenAPI. */
export const openApiRoute: ApiRoute = {
  method: 'GET',
  path: '/openapi.json',
  operation: reading(
    'describeAutomation',
    'Describe the API of this automation, with the types of its inputs',
    {
      description: 'An OpenAPI 3.1 document, for generators of clients and for forms.',
      200: {
        description: 'The document.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
  ),
  async answer(c, { sql, config, apis }) {
    const { automation } = c.var
    const fields = inputFields(await getDefinition(sql, automation))
    return c.json(describeAutomation({ whole: apis(), config, automation, fields }))
  },
}

const inputField = s.perhaps(
  {
    name: s.text,
    type: s.say(s.words(INPUT_TYPES), 'Absent: any but null.'),
    label: s.text,
    description: s.text,
    default: { description: 'What a run gets that is started without it.' },
    enum: s.say(s.list({}), 'The values that it may have. Absent: all of its type.'),
    required: s.truth,
  },
  ['name', 'required'],
)
const inputsDocument = s.closed({
  inputs: { ...s.list(s.text), description: 'The names.', examples: [['topic']] },
  fields: s.list(s.named('InputField', inputField)),
})

/** Lists the inputs that the automation needs. */
export const inputsRoute: ApiRoute = {
  method: 'GET',
  path: '/inputs',
  operation: reading('inputs', 'Ask which inputs the automation needs', {
    description: 'The names, and for forms what is declared of each.',
    200: ['The names.', s.named('Inputs', inputsDocument)],
  }),
  async answer(c, { sql }) {
    const fields = inputFields(await getDefinition(sql, c.var.automation))
    return c.json({ inputs: fields.map(({ name }) => name), fields })
  },
}
