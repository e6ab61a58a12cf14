import * as v from 'valibot'
import { prose } from './event-text.ts'

/** What a crew says of itself at `/describe`. */
export const crewDescription = v.object({
  contract: v.pipe(v.number(), v.integer(), v.minValue(0)),
  name: prose,
  capabilities: v.array(prose),
})
