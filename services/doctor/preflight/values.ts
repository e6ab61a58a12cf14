import { readFile } from 'node:fs/promises'
import * as v from 'valibot'
import { parse } from 'yaml'
import { quantity } from '../../shared/env.ts'
import { toError } from '../../shared/errors.ts'
import { wrong } from '../option-values.ts'

const text = (standard = '') => v.optional(v.nullable(v.string(), ''), standard)
const object = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.optional(v.object(entries), {} as never)

const image = (name: string, tag: string) =>
  object({ host: text(), name: text(name), tag: text(tag), digest: text() })

const count = (standard: number) => v.optional(v.pipe(v.number(), v.integer()), standard)
const bytes = v.pipe(v.union([v.string(), v.number()]), v.transform(String), quantity())

/** The values of the chart that the doctor reads, with the chart's defaults. */
const chartValues = v.object({
  global: object({ image: object({ registry: text(), namePrefixOverride: text() }) }),
  image: image('crew-platform/platform', ''),
  envVars: object({
    DB_HOST: text(),
    DB_PORT: v.optional(v.union([v.number(), v.string()]), 5432),
    DB_NAME: text('platform'),
    DB_USER: text('platform'),
    DB_SSLMODE: text('require'),
  }),
  auth: object({ provider: text('local'), issuerUrl: text() }),
  secrets: object({ DB_PASSWORD: text() }),
  postgres: object({
    enabled: v.optional(v.boolean(), true),
    collectorDatabase: text('collector'),
    image: image('postgres', '18.6'),
    storage: object({ className: text(), size: v.optional(bytes, '20Gi') }),
  }),
  dbProxy: object({ enabled: v.optional(v.boolean(), false) }),
  collector: object({
    enabled: v.optional(v.boolean(), true),
    image: image('crew-platform/collector', '0.1.2'),
    database: object({ host: text() }),
    config: object({
      retentionWeeks: v.optional(v.union([v.string(), v.number()]), '13'),
      maxStorageBytes: v.optional(v.union([v.string(), v.number()]), ''),
    }),
  }),
  worker: object({ replicaCount: count(1), concurrency: count(10) }),
  runs: object({ retentionDays: count(90) }),
  internalRegistry: object({
    enabled: v.optional(v.boolean(), true),
    image: image('registry', '3.1.1'),
    storage: object({ className: text() }),
  }),
  buildkit: object({
    enabled: v.optional(v.boolean(), true),
    image: image('moby/buildkit', 'v0.32.2-rootless'),
  }),
})

/** The values that the checks read. */
export type ChartValues = v.InferOutput<typeof chartValues>

/**
 * Reads the files of values, of which a later one wins, over the chart's defaults. Raises
 * `invalid_request` for a file that is none.
 */
export async function readValues(paths: readonly string[]): Promise<ChartValues> {
  const layers = await Promise.all(paths.map(readLayer))
  const merged = layers.reduce<unknown>(merge, {})
  const parsed = v.safeParse(chartValues, merged)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw wrong(`${paths.join(', ')}: ${v.getDotPath(issue) ?? ''} ${issue.message}`)
}

async function readLayer(path: string): Promise<unknown> {
  try {
    return parse(await readFile(path, 'utf8')) ?? {}
  } catch (thrown) {
    throw wrong(`The values ${path} cannot be read: ${toError(thrown).message}`)
  }
}

/** Maps are merged, as Helm does; all else is replaced. */
function merge(under: unknown, over: unknown): unknown {
  if (!isMap(under) || !isMap(over)) return over
  const merged: Record<string, unknown> = { ...under }
  for (const [key, value] of Object.entries(over)) merged[key] = merge(under[key], value)
  return merged
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
