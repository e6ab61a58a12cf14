import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { exampleInputs, inputsSchema } from '../../../platform/definitions/input-schema.ts'
import { automationPaths } from './automation.ts'
import { describeApi } from './describe-api.ts'
import { closed } from './parts.ts'
import { from_step, perhaps } from './schemas.ts'

/** Describes the API of one automation as OpenAPI 3.1, with the types of its inputs. */
export function describeAutomation(
  config: Parameters<typeof describeApi>[0],
  { name, automationId: id }: Pick<Automation, 'name' | 'automationId'>,
  fields: readonly InputField[],
) {
  const whole = describeApi(config)
  const inputs = inputsSchema(fields)
  const paths = automationPaths(config, { id, inputs: exampleInputs(fields) })
  const schemas = {
    ...whole.components.schemas,
    KickoffRequest: closed({ inputs }),
    ForkRequest: perhaps({ inputs, from_step }, ['inputs']),
  }
  const description = 'Start this automation and follow its runs. Errors are RFC 9457 problems.'
  return {
    ...whole,
    info: { ...whole.info, title: name, description },
    tags: whole.tags.filter(({ name: tag }) => tag === 'Automations' || tag === 'Messages'),
    paths,
    components: {
      ...whole.components,
      schemas: referredSchemas([paths, whole.webhooks], schemas),
    },
  }
}

/** Picks the schemas that a part of the document refers to, directly or through other schemas. */
function referredSchemas(part: unknown, schemas: Readonly<Record<string, unknown>>) {
  const found = new Map<string, unknown>()
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    )) {
      if (found.has(name)) continue
      found.set(name, schemas[name])
      visit(schemas[name])
    }
  }
  visit(part)
  return Object.fromEntries(found)
}
