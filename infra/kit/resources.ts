import * as k8s from '../k8s.ts'
import { whole } from '../template/operators.ts'
import type { Symbolic } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import { resources } from '../template/structure.ts'
import type { Values } from '../values.ts'

/** Limits and requests as the values give them. */
export const resourcesOf = (given: Symbolic<Values['collector']['resources']>) =>
  resources(whole(given))

const fixed = (cpu: string, memory: string) => ({
  cpu: k8s.Quantity.fromString(cpu),
  memory: k8s.Quantity.fromString(memory),
})

/**
 * The resources of short-lived containers: less than those of any other, so that they never decide
 * where a pod fits.
 */
export const initResources = part(
  {
    name: 'platform.initResources',
    comment: 'The resources of short-lived containers, which never decide where a pod fits.',
  },
  () => ({ limits: fixed('500m', '256Mi'), requests: fixed('50m', '64Mi') }),
)
