import { X509Certificate } from 'node:crypto'
import * as v from 'valibot'
import { isSecretName } from '../../shared/redact.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { Collection } from './collection.ts'

/** Text of this length is hardly a word. */
const LONG = 16
const DEBUG_TOKEN = 'PLATFORM_DEBUG_TOKEN'

const object = v.object({
  metadata: v.object({ name: v.string() }),
  type: v.optional(v.string()),
  data: v.nullish(v.record(v.string(), v.string()), {}),
})

const list = v.object({ items: v.array(object) })

type Stored = v.InferOutput<typeof object>

/**
 * Reads Secrets and ConfigMaps: their values to find them again elsewhere, and into the bundle
 * their keys, the lengths, and what certificates say of themselves. Returns the debug token, or an
 * empty text.
 */
export async function learnSecrets(cluster: Cluster, collection: Collection): Promise<string> {
  const secrets = await read(cluster, 'secrets', collection)
  const decoded = secrets.map((secret) => ({ ...secret, data: decode(secret.data ?? {}) }))
  collection.redaction.learn(decoded.flatMap(({ data }) => secretsIn(data)))
  const maps = await read(cluster, 'configmaps', collection)
  for (const [kind, stored] of [
    ['secrets', decoded],
    ['configmaps', maps],
  ] as const) {
    const shown = stored.map(describe)
    if (shown.length > 0) collection.addJson(`cluster/${cluster.namespace}/${kind}.json`, shown)
  }
  return decoded.find(({ data }) => data[DEBUG_TOKEN])?.data[DEBUG_TOKEN] ?? ''
}

async function read(
  { call, namespace }: Cluster,
  kind: string,
  collection: Collection,
): Promise<readonly Stored[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}?limit=500`
  const result = await call({ method: 'GET', path })
  const parsed = v.safeParse(list, 'object' in result ? result.object : undefined)
  if (parsed.success) return parsed.output.items
  const why = 'failure' in result ? result.failure.message : 'the answer is no list'
  collection.note(`${kind} of ${namespace}`, why)
  return []
}

/** A name of a user or a host in a Secret is a word that stands everywhere. */
const secretsIn = (data: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(data).flatMap(([key, value]) =>
    isSecretName(key) || value.length >= LONG || /\d/.test(value) ? [value] : [],
  )

const decode = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  )

/** Lists the keys in a way that no rule of the redaction takes for a secret. */
function describe({ metadata, type, data }: Stored): object {
  const contents = Object.entries(data ?? {}).map(([name, value]) => ({
    name,
    bytes: Buffer.byteLength(value),
    ...certificateIn(value),
  }))
  return { name: metadata.name, ...(type ? { type } : {}), contents }
}

function certificateIn(text: string): object {
  if (!text.includes('-----BEGIN CERTIFICATE-----')) return {}
  try {
    const { subject, issuer, validFrom, validTo } = new X509Certificate(text)
    return { certificate: { subject, issuer, valid_from: validFrom, valid_to: validTo } }
  } catch {
    return { certificate: 'not readable' }
  }
}
