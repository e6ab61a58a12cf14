import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** What is wrong with a manifest. */
type Check = (manifest: unknown) => readonly string[]

/**
 * Kinds of others, which the cluster itself does not define; `routes.test.ts` says what they hold.
 */
const FOREIGN = new Set([
  'gateway.networking.k8s.io/v1 HTTPRoute',
  'keda.sh/v1alpha1 ScaledObject',
  'monitoring.coreos.com/v1 PodMonitor',
  'monitoring.coreos.com/v1 PrometheusRule',
  'monitoring.coreos.com/v1 ServiceMonitor',
])

/** Fields and kinds that came after 1.28, on purpose; the chart asks for 1.30. */
const NEWER = new Set([
  'appArmorProfile',
  'matchLabelKeys',
  'mismatchLabelKeys',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
])

/** Fields that the API knows in a claim template, and the assembly only in a claim of its own. */
const OF_WHOLE_CLAIMS = new Set(['apiVersion', 'kind', 'status'])
const isClaim = (path: string): boolean => /\.volumeClaimTemplates\.\d+$/.test(path)

interface TypeReference {
  readonly primitive?: string
  readonly fqn?: string
  readonly collection?: Collection
}

interface Collection {
  readonly kind: 'array' | 'map'
  readonly elementtype: TypeReference
}

interface Property {
  readonly name: string
  readonly optional?: boolean
  readonly type: TypeReference
  readonly docs?: { readonly custom?: { readonly schema?: string } }
}

interface Assembly {
  readonly name: string
  readonly filename?: string
  readonly types: Readonly<
    Record<string, { readonly properties?: readonly Property[] } | undefined>
  >
}

/**
 * Checks manifests strictly against one version of Kubernetes: unknown fields, missing fields,
 * wrong types. The types come from the assembly that its cdk8s-plus ships, in which each property
 * names the field of the API that it stands for.
 */
function createCheck(packageJson: string, later: ReadonlySet<string> = new Set()): Check {
  const { name, types } = readAssembly(dirname(packageJson))
  const k8s = `${name}.k8s.`

  function struct(fqn: string, value: unknown, path: string): readonly string[] {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [`${path}: expected an object`]
    }
    const byField = fieldsOf(types[fqn]?.properties ?? [])
    const wrong = Object.entries(value).flatMap(([key, member]) => {
      const property = byField.get(key)
      if (later.has(key)) return []
      if (isClaim(path) && OF_WHOLE_CLAIMS.has(key)) return []
      return property
        ? problems(property.type, member, `${path}.${key}`)
        : [`${path}.${key}: unknown field`]
    })
    const missing = [...byField].filter(([key, { optional }]) => !optional && !(key in value))
    return [...wrong, ...missing.map(([key]) => `${path}.${key}: is missing`)]
  }

  function problems(type: TypeReference, value: unknown, path: string): readonly string[] {
    const { collection, primitive, fqn = '' } = type
    if (collection) return members(collection, value, path)
    if (primitive && !isPrimitive(primitive, value)) {
      return [`${path}: expected ${primitive}, got ${JSON.stringify(value)}`]
    }
    if (fqn === `${k8s}Quantity` || fqn === `${k8s}IntOrString`) {
      return isScalar(value) ? [] : [`${path}: expected a string or a number`]
    }
    return types[fqn]?.properties ? struct(fqn, value, path) : []
  }

  function members(
    { kind, elementtype }: Collection,
    value: unknown,
    path: string,
  ): readonly string[] {
    const isList = kind === 'array'
    return typeof value === 'object' && value !== null && Array.isArray(value) === isList
      ? Object.entries(value).flatMap(([key, item]) =>
          problems(elementtype, item, `${path}.${key}`),
        )
      : [`${path}: expected a ${isList ? 'list' : 'map'}`]
  }

  return (manifest) => {
    const { apiVersion, kind, ...rest } = manifest as Readonly<Record<string, unknown>>
    const version = String(apiVersion).split('/').at(-1) ?? ''
    const props = `${k8s}Kube${String(kind)}${version === 'v1' ? '' : capitalised(version)}Props`
    if (FOREIGN.has(`${String(apiVersion)} ${String(kind)}`)) return []
    if (later.has(String(kind))) return []
    if (!types[props]) return [`${String(apiVersion)} ${String(kind)}: unknown kind`]
    return struct(props, rest, String(kind))
  }
}

function readAssembly(root: string): Assembly {
  const index = JSON.parse(readFileSync(join(root, '.jsii'), 'utf8')) as Assembly
  if (!index.filename) return index
  return JSON.parse(gunzipSync(readFileSync(join(root, index.filename))).toString()) as Assembly
}

/** `v2beta1` as `V2Beta1`. */
const capitalised = (version: string): string =>
  version.replaceAll(/[a-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1))

/** `io.k8s.api.core.v1.ContainerPort#hostIP` stands for `hostIP`. */
const fieldOf = ({ name, docs }: Property): string => docs?.custom?.schema?.split('#')[1] ?? name

const known = new WeakMap<object, ReadonlyMap<string, Property>>()

function fieldsOf(properties: readonly Property[]): ReadonlyMap<string, Property> {
  const fields =
    known.get(properties) ??
    new Map(properties.map((property) => [fieldOf(property), property] as const))
  known.set(properties, fields)
  return fields
}

const isScalar = (value: unknown): boolean => ['string', 'number'].includes(typeof value)

const isPrimitive = (primitive: string, value: unknown): boolean =>
  ['any', 'json', 'date'].includes(primitive) || typeof value === primitive

const require = createRequire(import.meta.url)

/** An old version, and the one whose types the chart is written with. */
export const CHECKS: Readonly<Record<string, Check>> = {
  '1.28': createCheck(require.resolve('cdk8s-plus-28/package.json'), NEWER),
  '1.34': createCheck(require.resolve('cdk8s-plus-34/package.json')),
}

/** What is wrong with a manifest in any of these versions. */
export const checkManifest: Check = (manifest) =>
  Object.values(CHECKS).flatMap((check) => check(manifest))
