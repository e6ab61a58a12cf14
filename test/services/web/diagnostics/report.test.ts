import { readFileSync, readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import {
  CHART_DEPLOYMENTS,
  expectedDeployments,
} from '../../../../services/web/diagnostics/checks/platform-pods.ts'
import { describeOutage, textOf } from '../../../../services/web/diagnostics/outage.ts'
import { VERBS } from '../../../../services/web/diagnostics/kubernetes/deployments.ts'
import { createNaming, runInWeb } from '../../../../services/web/diagnostics/cluster-commands.ts'
import type { FailureCode } from '../../../../services/web/diagnostics/failure-code.ts'
import { RUN_CODES } from '../../../../services/web/diagnostics/run-codes.ts'
import { createRedaction } from '../../../../services/shared/redact.ts'
import { CHECKS, COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { HTTP_STATUS, verdictOf } from '../../../../services/web/diagnostics/report.ts'
import type { ComponentName } from '../../../../services/web/diagnostics/checks/list.ts'
import type { ComponentStatus } from '../../../../services/web/diagnostics/finding.ts'

/** All failure codes of all checks, with their remedies. */
const CODES = [...Object.values(CHECKS), { failures: RUN_CODES, warnings: undefined }].flatMap(
  ({ failures, warnings }) => Object.values<FailureCode>({ ...failures, ...warnings }),
)
const REMEDIES = CODES.map(({ remediation }) => remediation)

const STATUSES = ['ok', 'fail', 'skipped'] as const
const CRITICAL = new Set<ComponentName>(['database', 'auth'])

describe('the verdict (SPEC 3)', () => {
  it(`is right for each of the ${3 ** COMPONENT_NAMES.length} combinations of statuses`, () => {
    for (let combination = 0; combination < 3 ** COMPONENT_NAMES.length; combination += 1) {
      const statuses = new Map<ComponentName, ComponentStatus>(
        COMPONENT_NAMES.map((name, index) => [
          name,
          STATUSES[Math.floor(combination / 3 ** index) % 3] ?? 'ok',
        ]),
      )
      const failing = COMPONENT_NAMES.filter((name) => statuses.get(name) === 'fail')
      const expected = failing.some((name) => CRITICAL.has(name))
        ? 'fail'
        : failing.length > 0
          ? 'degraded'
          : 'ok'
      const components = Object.fromEntries(
        [...statuses].map(([name, status]) => [name, { status }]),
      ) as Record<ComponentName, { status: ComponentStatus }>
      expect(verdictOf(components)).toBe(expected)
    }
  })

  it('maps to the HTTP codes of SPEC 3', () => {
    expect(HTTP_STATUS).toEqual({ ok: 200, degraded: 200, fail: 503 })
  })

  it('has something to do about every code', () => {
    for (const text of REMEDIES) expect(text).toMatch(/^[A-Z`].{20,900}\.$/)
  })

  it('names files and labels in its commands that the manifests have', () => {
    const texts = REMEDIES.join('\n')
    const files = [...texts.matchAll(/dist\/(\S+\.yaml)/g)].map(([, name]) => name)
    expect(readdirSync(new URL('../../../../dist/', import.meta.url))).toEqual(
      expect.arrayContaining(files),
    )
    const jobs = manifests('Job').filter(
      ({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'] === 'crews',
    )
    expect(jobs).toHaveLength(1)
  })

  it('names web as the chart does where its objects do not bear the name of the release', () => {
    const name = createNaming({
      RELEASE_NAME: 'acme',
      RELEASE_FULLNAME: 'crew',
      POD_NAMESPACE: 'p',
    })
    const remediation = `${runInWeb('flags:list')} helm upgrade {release}`
    expect(name({ remediation }).remediation).toMatch(
      /kubectl -n p exec deploy\/crew-web -- .* helm upgrade acme$/,
    )
  })

  it('fills the names of the installation into remedies, and into nothing else', () => {
    const name = createNaming({ RELEASE_NAME: 'acme', POD_NAMESPACE: 'prod' })
    const text = '{release} in {namespace}'
    expect(
      name({ error: text, details: { remediation: text, warnings: [{ remediation: text }] } }),
    ).toEqual({
      error: text,
      details: { remediation: 'acme in prod', warnings: [{ remediation: 'acme in prod' }] },
    })
  })
})

interface Manifest {
  readonly kind?: string
  readonly metadata?: { readonly name?: string; readonly labels?: Record<string, string> }
  readonly spec?: {
    readonly template?: {
      readonly spec: {
        readonly containers: readonly {
          readonly env?: readonly { name: string; value?: string }[]
        }[]
      }
    }
  }
  readonly roleRef?: { readonly name: string }
  readonly subjects?: readonly { readonly name: string }[]
  readonly rules?: readonly {
    readonly apiGroups: string[]
    readonly resources: string[]
    readonly verbs: string[]
  }[]
}

/** The manifests of the default values. */
function manifests(kind: string): readonly Manifest[] {
  const dist = new URL('../../../../dist/', import.meta.url)
  return readdirSync(dist)
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => parseAllDocuments(readFileSync(new URL(name, dist), 'utf8')))
    .map((document) => document.toJS() as Manifest)
    .filter((object) => object?.kind === kind)
}

describe('the Deployments that the probe expects', () => {
  it('are those that the chart makes', () => {
    const made = manifests('Deployment').map(({ metadata }) =>
      metadata?.name?.replace(/^platform-/, ''),
    )
    expect(new Set(made)).toEqual(new Set(CHART_DEPLOYMENTS))
  })

  it('are told to web by the chart', () => {
    const [web] = manifests('Deployment').filter(
      ({ metadata }) => metadata?.name === 'platform-web',
    )
    const told = web?.spec?.template?.spec.containers
      .flatMap(({ env = [] }) => env)
      .find(({ name }) => name === 'PLATFORM_DEPLOYMENTS')
    expect(told?.value?.split(',')).toEqual(CHART_DEPLOYMENTS)
  })

  it('may be read by the service account of web, as the chart makes it', () => {
    const bound = manifests('RoleBinding')
      .filter(({ subjects }) => subjects?.some(({ name }) => name === 'platform-web'))
      .map(({ roleRef }) => roleRef?.name ?? '')
    const rules = manifests('Role')
      .filter(({ metadata }) => bound.includes(metadata?.name ?? ''))
      .flatMap((role) => role.rules ?? [])
    expect(rules).toContainEqual({
      apiGroups: ['apps'],
      resources: ['deployments'],
      verbs: [...VERBS],
    })
  })

  it('are fewer where services are not configured, and exactly those that the chart names', () => {
    const none = {
      PLATFORM_DEPLOYMENTS: undefined,
      PLATFORM_OAUTH_API_BASE_URL: undefined,
      COLLECTOR_URL: undefined,
    }
    expect(expectedDeployments(none)).toEqual(['web', 'worker', 'buildkit', 'internal-registry'])
    expect(expectedDeployments({ ...none, PLATFORM_DEPLOYMENTS: ['web'] })).toEqual(['web'])
  })
})

describe('what a failure says', () => {
  it('is a text whatever was thrown', () => {
    const hostile = {
      toString() {
        throw new Error('no')
      },
    }
    const values = [undefined, null, 0, 'x', Symbol('s'), hostile, Object.create(null), new Error()]
    for (const value of values) expect(typeof textOf(value)).toBe('string')
    fc.assert(fc.property(fc.anything(), (value) => textOf(value).length <= 4000))
  })

  it('names every address of a host that has several', () => {
    const errors = [
      new Error('connect ECONNREFUSED ::1:1'),
      new Error('connect ECONNREFUSED 127.0.0.1:1'),
    ]
    expect(describeOutage(new AggregateError(errors, ''))).toBe(
      'ConnectionFailed: connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1',
    )
  })
})

describe('the redaction', () => {
  const redact = createRedaction({ OPENAI_API_KEY: 'canary-value-0123', DB_PASSWORD: 'short' })

  it('takes out what the pod knows to be secret, and what looks like it', () => {
    const texts = [
      'key canary-value-0123!',
      'postgres://u:hunter22@db/x',
      'Authorization: Bearer abc.def',
      'sk-proj-0123456789',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln',
      'GET /x?token=abcdef&y=1',
    ]
    const shown = JSON.stringify(redact({ a: texts, b: { c: [texts] } }))
    expect(shown).not.toMatch(/canary|hunter22|abc\.def|0123456789|eyJ|abcdef/)
    expect(shown.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(12)
  })

  it('leaves everything else as it is', () => {
    const value = {
      a: 'a short text',
      b: [1, true, null, { c: 'connect ECONNREFUSED 10.0.0.1:5432' }],
    }
    expect(redact(value)).toEqual(value)
  })
})
