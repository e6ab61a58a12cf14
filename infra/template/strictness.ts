import type { ApiObject } from 'cdk8s'
import { isFree, Leaf } from './free.ts'
import { isObject } from './json.ts'

/**
 * The manifest that an L1 class makes of properties without symbolic values. The L1 classes
 * silently drop fields that their API version does not have and values of the wrong kind; here such
 * a loss is an error.
 */
export function manifestOf(object: ApiObject, given: unknown): Readonly<Record<string, unknown>> {
  const kept = filteredBy(object.constructor, given)
  const lost = lossesOf(given, kept).map((path) => path.replace(/^\./, ''))
  if (lost.length > 0 || !isObject(kept)) {
    throw new Error(
      `${object.node.path}: not fields of a Kubernetes ${object.kind}, ` +
        `or values of the wrong kind: ${lost.join(', ')}`,
    )
  }
  return kept
}

/** A kind that is not an L1 class keeps everything. */
const filteredBy = (kind: object, given: unknown): unknown =>
  hasManifest(kind) ? kind.manifest(given) : given

const hasManifest = (kind: object): kind is { manifest(props: unknown): unknown } =>
  'manifest' in kind && typeof kind.manifest === 'function'

const NONE: readonly string[] = []

/** The paths of what is not kept, such as `.spec.replicas`: without a loss no text is made. */
function lossesOf(given: unknown, kept: unknown): readonly string[] {
  if (isUnwrapped(given, kept)) return NONE
  if (kept === undefined || kept === null) return ['']
  if (Array.isArray(given)) {
    const items: readonly unknown[] = Array.isArray(kept) ? kept : []
    return given.flatMap((item, index) =>
      lossesOf(item, items[index]).map((path) => `[${index}]${path}`),
    )
  }
  if (!isObject(given)) return NONE
  const fields: object = kept
  // What is given goes into the chart as it is spelt.
  const find = isFree(given) ? Reflect.get : fieldOf
  return Object.keys(given).flatMap((key) =>
    lossesOf(given[key], find(fields, key)).map((path) => `.${key}${path}`),
  )
}

/** Tells whether a scalar was kept, which some types have as the `value` of an object. */
function isUnwrapped(given: unknown, kept: unknown): boolean {
  if (given instanceof Leaf) return given === kept || given.value === kept
  return isObject(given) && 'value' in given && given['value'] === kept
}

/** A field by its name; the L1 classes change the case of a few acronyms. */
function fieldOf(fields: object, key: string): unknown {
  const direct: unknown = Reflect.get(fields, key)
  if (direct !== undefined) return direct
  const other = Object.keys(fields).find((name) => name.toLowerCase() === key.toLowerCase())
  return other === undefined ? undefined : Reflect.get(fields, other)
}
