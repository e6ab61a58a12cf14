import * as v from 'valibot'
import { readQuantity } from '../shared/kubernetes/quantity.ts'

/** A quantity of Kubernetes such as `500m` or `2Gi`. */
const quantity = () =>
  v.pipe(
    v.string(),
    v.check(
      (text) => readQuantity(text) !== undefined,
      'must be a quantity of Kubernetes such as 500m or 2Gi',
    ),
  )
/** Bytes as a quantity. */
const bytes = () =>
  v.pipe(
    quantity(),
    v.transform((text) => readQuantity(text) ?? 0),
  )

/** The room that the sources and images of an organization take together, in bytes. */
export const crewStorageEnv = { CREW_STORAGE_MAX: v.optional(bytes(), '10Gi') }

/** The room that what is kept of the public index takes, in bytes. */
export const upstreamStorageEnv = { TOOLS_UPSTREAM_CACHE_MAX: v.optional(bytes(), '10Gi') }

/** The most that one pod of a crew may be given. */
export const crewMaximaEnv = {
  CREW_CPU_MAX: v.optional(quantity()),
  CREW_MEMORY_MAX: v.optional(quantity()),
}
