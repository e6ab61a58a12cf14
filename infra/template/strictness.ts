import { ApiObject } from 'cdk8s'
import { isObject } from './json.ts'

/**
 * The manifest of an object. The L1 classes drop, without a word, each field that their API version does not know and each
 * value of the wrong kind; here such a loss is an error.
 */
export function manifestOf(object: ApiObject): Readonly<Record<string, unknown>> {
  const given: unknown = ApiObject.prototype.toJson.call(object)
  const kept: unknown = object.toJson()
  const lost = lossesOf(given, kept, '')
  if (lost.length > 0 || !isObject(kept)) {
    throw new Error(
      `${object.node.path}: not fields of a Kubernetes ${object.kind}, or values of the wrong kind: ${lost.join(', ')}`,
    )
  }
  return kept
}

function lossesOf(given: unknown, kept: unknown, path: string): readonly string[] {
  if (isObject(given) && 'value' in given && given['value'] === kept) return []
  if (kept === undefined || kept === null) return [path]
  if (Array.isArray(given)) {
    const items: readonly unknown[] = Array.isArray(kept) ? kept : []
    return given.flatMap((item, index) => lossesOf(item, items[index], `${path}[${index}]`))
  }
  if (!isObject(given)) return []
  const fields = new Map(Object.entries(kept).map(([key, value]) => [key.toLowerCase(), value]))
  return Object.entries(given).flatMap(([key, value]) =>
    lossesOf(value, fields.get(key.toLowerCase()), path === '' ? key : `${path}.${key}`),
  )
}
