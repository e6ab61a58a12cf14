import type { Automation } from '../../platform/automations.ts'
import type { InputField } from '../../platform/crew-inputs.ts'
import { exampleInputs, inputsSchema } from '../../platform/input-schema.ts'
import { automationPaths } from './automation.ts'
import { describeApi } from './describe-api.ts'
import { closed } from './parts.ts'
import { AUTOMATION_SCHEMAS, from_step, perhaps } from './schemas.ts'
import { WEBHOOK_SCHEMAS } from './webhooks.ts'

/** Describes the API of one automation as OpenAPI 3.1, with the types of its inputs. */
export function describeAutomation(
  config: Parameters<typeof describeApi>[0],
  { name, automationId: id }: Pick<Automation, 'name' | 'automationId'>,
  fields: readonly InputField[],
) {
  const whole = describeApi(config)
  const inputs = inputsSchema(fields)
  const description = 'Start this automation and follow its runs. Errors are RFC 9457 problems.'
  return {
    ...whole,
    info: { ...whole.info, title: name, description },
    tags: whole.tags.filter(({ name: tag }) => tag === 'Automations' || tag === 'Webhooks'),
    paths: automationPaths(config, { id, inputs: exampleInputs(fields) }),
    components: {
      ...whole.components,
      schemas: {
        ...AUTOMATION_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
        KickoffRequest: closed({ inputs }),
        ForkRequest: perhaps({ inputs, from_step }, ['inputs']),
      },
    },
  }
}
