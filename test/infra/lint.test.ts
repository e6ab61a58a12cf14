import { describe, expect, it } from 'vitest'
import { KUBE_LINTER, KUBE_SCORE } from './support/lint-rules.ts'
import * as overrides from './support/overrides.ts'
import { manifests } from './support/platform.ts'

/** What is left to be found on purpose, and why. */
const EXCEPTIONS: Readonly<Record<string, RegExp>> = {
  // Rootless builds: see infra/buildkit.ts.
  'drop-net-raw': /buildkit/,
  'no-read-only-root-fs': /buildkit/,
  'privilege-escalation-container': /buildkit/,
  // PLATFORM_SECRET and its like hold names of Secrets.
  'env-var-secret': /bootstrap/,
  // Replicas are kept apart by topology spread constraints, which do not leave them pending on small clusters.
  'no-anti-affinity': /./,
  // Scratch directories have a size limit each; a request would keep pods off nodes that do not report ephemeral storage.
  'container-ephemeral-storage-request-and-limit': /./,
  // SPEC 2.6: IfNotPresent.
  'container-image-pull-policy': /./,
  // SPEC 5.4: user 1000; PostgreSQL's image has 999, the proxy's 65532.
  'container-security-context-user-group-id': /./,
  // SPEC 8: the collector's three probes all ask /health.
  'pod-probes (identical)': /collector/,
}

const samples = Object.entries({ defaults: {}, ...overrides })

describe.each(samples)('with the %s values', (_, values) => {
  const objects = manifests(values)
  it.each(Object.entries({ ...KUBE_LINTER, ...KUBE_SCORE }))('finds no %s', (name, rule) => {
    expect(rule(objects).filter((fault) => !EXCEPTIONS[name]?.test(fault))).toEqual([])
  })
})

describe('the exceptions', () => {
  it('are all needed', () => {
    const objects = manifests(overrides.production)
    for (const name of Object.keys(EXCEPTIONS)) {
      const rule = KUBE_LINTER[name] ?? KUBE_SCORE[name]
      expect(rule?.(objects).length, name).toBeGreaterThan(0)
    }
  })
})
