import * as v from 'valibot'
import { flag } from '../../shared/env.ts'
import { readQuantity } from '../../shared/kubernetes/quantity.ts'
import { readRange } from '../../shared/outgoing/address-ranges.ts'

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

/** A list with commas between. */
export const names = () =>
  v.pipe(
    v.string(),
    v.transform((list): readonly string[] => list.split(',').filter((name) => name !== '')),
  )
const ranges = () =>
  v.pipe(
    names(),
    v.check(
      (list) => list.every((text) => readRange(text) !== undefined),
      'must be ranges such as 10.20.0.0/16, with commas between',
    ),
  )

/** What the lists of automations from source may open, beside public addresses. */
export const crewReachEnv = {
  /** Whether they may open private addresses. */
  CREW_PRIVATE_RANGES: v.optional(flag(), 'true'),
  /** Private ranges that they may open all the same. */
  CREW_RANGES: v.optional(ranges(), ''),
  /** The namespaces whose Services they may name; `*`: any, `-`: none. */
  CREW_NAMESPACES: v.optional(names(), '*'),
}

/** The most that one pod of a crew may be given. */
export const crewMaximaEnv = {
  CREW_CPU_MAX: v.optional(quantity()),
  CREW_MEMORY_MAX: v.optional(quantity()),
}
