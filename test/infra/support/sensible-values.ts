import type { Values } from '../../../infra/values.ts'

/** Bends random values so far that they break no rule between values. */
export function sensible(random: Record<string, unknown>): Record<string, unknown> {
  const values = structuredClone(random) as unknown as Mutable<Values>
  const { collector, postgres, dbProxy, envVars, secrets, web, worker } = values
  const ports = new Set<number>()
  for (const [holder, key] of [
    [collector, 'port'],
    [collector, 'metricsPort'],
    [envVars, 'DB_PORT'],
    [dbProxy, 'healthPort'],
    [web, 'port'],
    [worker, 'port'],
  ] as readonly (readonly [Record<string, unknown>, string])[]) {
    let port = Number(holder[key])
    while (ports.has(port)) port = (port % 65_535) + 1
    ports.add(port)
    holder[key] = port
  }
  if (postgres.enabled) dbProxy.enabled = false
  if (!dbProxy.enabled) dbProxy.autoIamAuthn = false
  dbProxy.instanceConnectionName ||= 'project:region:instance'
  envVars.DB_HOST ||= 'db.example.com'
  if (!secrets.existingSecret) secrets.DB_PASSWORD ||= 'a password'
  if (postgres.collectorDatabase === envVars.DB_NAME)
    postgres.collectorDatabase = `${envVars.DB_NAME.slice(0, 50)}_traces`
  return values as unknown as Record<string, unknown>
}

type Mutable<T> = T extends string | number | boolean
  ? T
  : { -readonly [K in keyof T]: Mutable<T[K]> }
