import * as k8s from '../k8s.ts'
import type { Symbolic } from '../template/operators.ts'
import { quantity } from '../template/structure.ts'
import type { Values } from '../values.ts'

/** Limits and requests as the values give them. */
export const resourcesOf = ({ limits, requests }: Symbolic<Values['collector']['resources']>) => ({
  limits: { cpu: quantity(limits.cpu), memory: quantity(limits.memory) },
  requests: { cpu: quantity(requests.cpu), memory: quantity(requests.memory) },
})

const fixed = (cpu: string, memory: string) => ({
  cpu: k8s.Quantity.fromString(cpu),
  memory: k8s.Quantity.fromString(memory),
})

/** What a short-lived container gets: less than any of the long-lived ones, so that it never decides where a pod fits. */
export const initResources = { limits: fixed('500m', '256Mi'), requests: fixed('50m', '64Mi') }
