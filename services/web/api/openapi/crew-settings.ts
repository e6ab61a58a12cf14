import {
  EGRESS_MAX,
  ENTRYPOINT,
  IDLE_MINUTES_MAX,
  PYTHON_VERSIONS,
  REPLICAS_MAX,
} from '../../../platform/crews/crew-settings-fields.ts'
import { CREW_WAYS } from '../../../platform/crews/crew-settings.ts'
import { integer, list, nullable, text } from './parts.ts'

const orNull = (values: readonly string[], description: string) =>
  nullable('string', { enum: [...values, null], description })
const quantity = (example: string) =>
  nullable('string', { description: 'Null: as the operator decides.', examples: [example] })

/** The settings of a crew. */
export const settings = {
  way: orNull(CREW_WAYS, 'Null: as the platform decides.'),
  python_version: orNull(PYTHON_VERSIONS, 'Null: as the platform decides.'),
  entrypoint: nullable('string', {
    pattern: ENTRYPOINT.source,
    description: 'What is run, where it cannot be found in the project.',
    examples: ['my_crew.main:run'],
  }),
  replicas: { ...integer, minimum: 0, maximum: REPLICAS_MAX },
  cpu_request: quantity('100m'),
  cpu_limit: quantity('1'),
  memory_request: quantity('256Mi'),
  memory_limit: quantity('1Gi'),
  idle_minutes: nullable('integer', {
    minimum: 1,
    maximum: IDLE_MINUTES_MAX,
    description: 'Without runs for so long it sleeps until the next one. Null: never.',
  }),
  egress: {
    ...list(text),
    maxItems: EGRESS_MAX,
    description:
      'Hosts and networks that it may reach beside those which every crew may; `internet` stands ' +
      'for every public address. Addresses that the operator does not allow stay shut.',
    examples: [['api.example.com', '10.20.0.0/16']],
  },
}
