import * as v from 'valibot'
import { regionLabel } from '../../platform/tools/tool-definitions.ts'
import { text } from '../resources/controls.ts'
import { field } from '../resources/declaration.ts'

/** Where something is that the data of an organization goes to. */
export const region = field(v.optional(v.nullable(regionLabel), null), {
  label: 'Region',
  hint:
    'Where it is, such as eu or us-east. Under a rule of the organization on regions, what says ' +
    'no region is outside.',
  control: text({ max: 40, isMono: true, isOptional: true }),
  example: 'eu',
})
