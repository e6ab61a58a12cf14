import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/**
 * Checks manifests strictly against Kubernetes 1.28: unknown fields, missing fields, wrong types. The types come from the
 * assembly that cdk8s-plus-28 ships, in which each property names the field of the API that it stands for.
 */
export function checkManifest(manifest: unknown): readonly string[] {
  const { apiVersion, kind, ...rest } = manifest as Readonly<Record<string, unknown>>
  const version = String(apiVersion).split('/').at(-1)
  const props = `${K8S}Kube${String(kind)}${version === 'v1' ? '' : capitalised(version ?? '')}Props`
  if (FOREIGN.has(`${String(apiVersion)} ${String(kind)}`)) return []
  if (!assembly.types[props]) return [`${String(apiVersion)} ${String(kind)}: unknown kind`]
  return structProblems(props, rest, String(kind))
}

/** Kinds of others, which the cluster itself does not define; `routes.test.ts` says what they hold. */
const FOREIGN = new Set([
  'gateway.networking.k8s.io/v1 HTTPRoute',
  'monitoring.coreos.com/v1 PodMonitor',
])

/** Fields that came after 1.28, on purpose. */
const NEWER = new Set(['appArmorProfile'])

interface TypeReference {
  readonly primitive?: string
  readonly fqn?: string
  readonly collection?: { readonly kind: 'array' | 'map'; readonly elementtype: TypeReference }
}

interface Property {
  readonly name: string
  readonly optional?: boolean
  readonly type: TypeReference
  readonly docs?: { readonly custom?: { readonly schema?: string } }
}

interface Assembly {
  readonly compression?: string
  readonly filename?: string
  readonly types: Readonly<
    Record<string, { readonly properties?: readonly Property[] } | undefined>
  >
}

const K8S = 'cdk8s-plus-28.k8s.'
const assembly = readAssembly()

function readAssembly(): Assembly {
  const root = dirname(createRequire(import.meta.url).resolve('cdk8s-plus-28/package.json'))
  const index = JSON.parse(readFileSync(join(root, '.jsii'), 'utf8')) as Assembly
  if (!index.filename) return index
  return JSON.parse(gunzipSync(readFileSync(join(root, index.filename))).toString()) as Assembly
}

/** `v2beta1` as `V2Beta1`. */
const capitalised = (version: string): string =>
  version.replaceAll(/[a-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1))

function structProblems(fqn: string, value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [`${path}: expected an object`]
  }
  const properties = assembly.types[fqn]?.properties ?? []
  const byField = new Map(properties.map((property) => [fieldOf(property), property]))
  const wrong = Object.entries(value).flatMap(([key, member]) => {
    const property = byField.get(key)
    if (NEWER.has(key)) return []
    return property
      ? problems(property.type, member, `${path}.${key}`)
      : [`${path}.${key}: unknown field`]
  })
  const missing = [...byField].filter(([key, { optional }]) => !optional && !(key in value))
  return [...wrong, ...missing.map(([key]) => `${path}.${key}: is missing`)]
}

/** `io.k8s.api.core.v1.ContainerPort#hostIP` stands for `hostIP`. */
const fieldOf = ({ name, docs }: Property): string => docs?.custom?.schema?.split('#')[1] ?? name

function problems(type: TypeReference, value: unknown, path: string): readonly string[] {
  const { collection, primitive, fqn = '' } = type
  if (collection?.kind === 'array') return listProblems(collection.elementtype, value, path)
  if (collection) return mapProblems(collection.elementtype, value, path)
  if (primitive) {
    if (isPrimitive(primitive, value)) return []
    return [`${path}: expected ${primitive}, got ${JSON.stringify(value)}`]
  }
  if (fqn === `${K8S}Quantity` || fqn === `${K8S}IntOrString`) {
    return isScalar(value) ? [] : [`${path}: expected a string or a number`]
  }
  return assembly.types[fqn]?.properties ? structProblems(fqn, value, path) : []
}

function listProblems(type: TypeReference, value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value)) return [`${path}: expected a list`]
  return value.flatMap((item, index) => problems(type, item, `${path}[${index}]`))
}

function mapProblems(type: TypeReference, value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`${path}: expected a map`]
  return Object.entries(value).flatMap(([key, item]) => problems(type, item, `${path}.${key}`))
}

const isScalar = (value: unknown): boolean => ['string', 'number'].includes(typeof value)

const isPrimitive = (primitive: string, value: unknown): boolean =>
  ['any', 'json', 'date'].includes(primitive) || typeof value === primitive
