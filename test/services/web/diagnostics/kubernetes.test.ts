import { unlink } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { noteBuildCanary, noteBuildLook } from '../../../../services/platform/crews/build-checks.ts'
import { setFlag } from '../../../../services/platform/feature-flags.ts'
import { ensureProjectAutomation } from '../../../../services/platform/projects/project-automations.ts'
import { publishVersion } from '../../../../services/platform/projects/project-versions.ts'
import { ensureProject } from '../../../../services/platform/projects/projects.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import { definition } from '../../../support/crew.ts'
import { startKubernetes, forbidden } from '../../../support/kubernetes.ts'
import type { KubernetesStub } from '../../../support/kubernetes.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { DiagnosticsDeps } from '../../../../services/web/diagnostics/deps.ts'
import { codeOf, resultOf, install, warningsOf } from './support/web.ts'
import { blackHole, closed, huge, page, resetting, silent } from './support/faults.ts'
import type { Fault } from './support/faults.ts'
import { useInstallation } from './support/installation.ts'

const NAMES = ['web', 'worker', 'buildkit', 'internal-registry']
const LIST =
  '/apis/apps/v1/namespaces/install/' +
  'deployments?labelSelector=app.kubernetes.io%2Finstance%3Dacme&limit=500'
const ENV = { RELEASE_NAME: 'acme', POD_NAMESPACE: 'install', K8S_NAMESPACE: 'crews' }

const installation = useInstallation()
let stub: KubernetesStub

beforeEach(async () => {
  stub = await startKubernetes()
})

afterEach(() => stub.stop())

type Examined = 'platform_pods' | 'designer'

const reportOf = (name: Examined, env: EnvSource = {}, diagnostics: DiagnosticsDeps = {}) =>
  resultOf(name, {
    databaseUrl: installation.url,
    env: { ...ENV, ...env },
    diagnostics: { kubernetes: stub.address, ...diagnostics },
  })

/** The cluster's API is what is broken. */
const examineAt = (name: Examined, { url, limits }: Fault) =>
  reportOf(name, {}, { limits, kubernetes: { ...stub.address, url } })

interface State {
  readonly replicas?: number | null
  readonly status?: Record<string, unknown>
  readonly generation?: number
}

const healthy = (ready = 1): State => ({
  replicas: ready,
  generation: 3,
  status: { observedGeneration: 3, replicas: ready, readyReplicas: ready, updatedReplicas: ready },
})

const deployment = (name: string, { replicas = 1, status = {}, generation = 3 }: State) => ({
  metadata: { name, generation, labels: { 'app.kubernetes.io/component': name } },
  spec: {
    ...(replicas === null ? {} : { replicas }),
    selector: { matchLabels: { 'app.kubernetes.io/component': name.replace('acme-', '') } },
  },
  status,
})

const podOf = (component: string) => ({
  name: `acme-${component}-9`,
  labels: { 'app.kubernetes.io/component': component },
})

/** A pod whose image is nowhere to be had. */
const imageTrouble = (component: string) => ({
  metadata: podOf(component),
  status: {
    containerStatuses: [
      {
        image: `acme/${component}:9.9`,
        state: {
          waiting: {
            reason: 'ImagePullBackOff',
            message: `Back-off pulling image "acme/${component}:9.9"`,
          },
        },
      },
    ],
  },
})

const servePods = (items: readonly unknown[], namespace = 'install'): void =>
  void stub.objects.set(`/api/v1/namespaces/${namespace}/pods`, { metadata: {}, items })

/** Lists the Deployments of the chart, all well but for those given. */
function serve(states: Readonly<Record<string, State | undefined>> = {}): void {
  const items = NAMES.filter((name) => !(name in states) || states[name]).map((name) =>
    deployment(`acme-${name}`, states[name] ?? healthy()),
  )
  stub.objects.set(LIST, { kind: 'DeploymentList', metadata: {}, items })
}

const rowsOf = ({ details }: { details?: Readonly<Record<string, unknown>> }) =>
  Object.fromEntries(
    ((details?.['deployments'] ?? []) as { name: string }[]).map((row) => [row.name, row]),
  ) as Record<string, Record<string, unknown>>

describe('platform_pods', () => {
  it('warns of what keeps BuildKit, the registry and the nodes from being of use', async () => {
    serve()
    const env = { RELEASE_FULLNAME: 'acme', PLATFORM_DEPLOYMENTS: NAMES.join(',') }
    const examined = async () => {
      const { status, details } = await reportOf('platform_pods', env)
      expect(status).toBe('ok')
      const warnings = (details?.warnings ?? []).map(({ code }) => code)
      return { warnings, builds: details?.['builds'] }
    }
    const { sql } = installation
    expect(await examined()).toEqual({
      warnings: ['builds_unchecked'],
      builds: { checked_at: null, canary: null },
    })
    const soon = new Date(Date.now() + 86_400_000).toISOString()
    const refused = {
      code: 'build_registry_refused',
      message: 'The registry answers 401.',
    } as const
    await noteBuildLook(sql, { problems: [refused], certificates: { client: soon } })
    const lost = { code: 'build_pull_failed', message: 'No node.' } as const
    await noteBuildCanary(sql, { problem: lost, seconds: 31 })
    expect((await examined()).warnings).toEqual([
      'build_registry_refused',
      'certificate_expires',
      'build_pull_failed',
    ])
    await noteBuildLook(sql, { problems: [], certificates: {} })
    await noteBuildCanary(sql, { problem: null, seconds: 30 })
    expect(await examined()).toMatchObject({
      warnings: [],
      builds: { canary: { ok: true, seconds: 30 } },
    })
    await sql`update build_checks set checked_at = now() - interval '6 minutes'`
    expect((await examined()).warnings).toEqual(['builds_unchecked'])
  })

  it('is skipped outside Kubernetes', async () => {
    const result = await resultOf('platform_pods', { databaseUrl: installation.url, env: ENV })
    expect(result).toEqual({ status: 'skipped' })
  })

  it('passes with a row for each Deployment of the chart', async () => {
    serve({ web: healthy(3) })
    const result = await reportOf('platform_pods')
    expect(result).toMatchObject({ status: 'ok', details: { namespace: 'install' } })
    expect(rowsOf(result)['acme-web']).toEqual({
      name: 'acme-web',
      condition: 'ready',
      desired_replicas: 3,
      ready_replicas: 3,
      updated_replicas: 3,
      message: '',
    })
    expect(Object.keys(rowsOf(result))).toEqual(NAMES.map((name) => `acme-${name}`))
  })

  it('asks by the name of the release, and expects the names that the chart gave', async () => {
    const [web, worker] = ['crew-web', 'crew-worker'].map((name) => deployment(name, healthy()))
    stub.objects.set(LIST, { metadata: {}, items: [web, worker] })
    const env = { RELEASE_FULLNAME: 'crew', PLATFORM_DEPLOYMENTS: 'web,worker' }
    const result = await reportOf('platform_pods', env)
    expect(result.status).toBe('ok')
    expect(Object.keys(rowsOf(result))).toEqual(['crew-web', 'crew-worker'])
    stub.objects.set(LIST, { metadata: {}, items: [web] })
    expect((await reportOf('platform_pods', env)).error).toContain('crew-worker (missing)')
  })

  it.each([
    [
      'no ready pod: the count is absent',
      { replicas: 3, status: { observedGeneration: 3 } },
      'unready',
    ],
    ['a brand-new object', { replicas: 3, status: {}, generation: 0 }, 'unready'],
    [
      'fewer than desired',
      { replicas: 2, status: { observedGeneration: 3, readyReplicas: 1 } },
      'unready',
    ],
    ['zero replicas', { replicas: 0, status: { observedGeneration: 3 } }, 'scaled_to_zero'],
    ['no Deployment', undefined, 'missing'],
  ] as const)('fails for %s', async (_, state, condition) => {
    serve({ worker: state })
    const result = await reportOf('platform_pods')
    expect(codeOf(result)).toBe('deployments_unready')
    expect(result.error).toMatch(/^fewer Ready replicas than desired: acme-worker/)
    expect(result.error).not.toContain('acme-web')
    expect(rowsOf(result)['acme-worker']).toMatchObject({ condition })
  })

  it('fails for more ready pods than desired: they are not equal (SPEC 2.3)', async () => {
    serve({ worker: { ...healthy(3), replicas: 2 } })
    const result = await reportOf('platform_pods')
    expect(codeOf(result)).toBe('deployments_unready')
    expect(result.error).toBe('more Ready replicas than desired: acme-worker (3/2)')
    expect(rowsOf(result)['acme-worker']).toMatchObject({
      condition: 'surging',
      message: 'A rolling update is under way.',
    })
  })

  it.each([
    ['one replica by default', { ...healthy(1), replicas: null }, 'ready'],
    ['a change that the cluster has not taken up', { ...healthy(2), generation: 4 }, 'progressing'],
    [
      'a rollout of which no pod is ready',
      { replicas: 2, status: { ...healthy(2).status, replicas: 3, updatedReplicas: 1 } },
      'progressing',
    ],
  ] as const)('passes with %s', async (_, state, condition) => {
    serve({ worker: state })
    const result = await reportOf('platform_pods')
    expect(result.status).toBe('ok')
    expect(rowsOf(result)['acme-worker']).toMatchObject({ condition })
    expect(warningsOf(result)).toBeUndefined()
  })

  it('passes while the version before serves, and warns that the rollout is stuck', async () => {
    const conditions = [
      { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'fine' },
      {
        type: 'Progressing',
        status: 'False',
        reason: 'ProgressDeadlineExceeded',
        message: 'ReplicaSet "acme-web-9" has timed out progressing.',
      },
    ]
    const status = { ...healthy(2).status, replicas: 3, updatedReplicas: 1, conditions }
    serve({ web: { replicas: 2, status } })
    servePods([imageTrouble('web')])
    const result = await reportOf('platform_pods')
    expect(result.status).toBe('ok')
    const row = rowsOf(result)['acme-web']
    expect(row).toMatchObject({ condition: 'stuck', ready_replicas: 2, updated_replicas: 1 })
    expect(row?.['message']).toContain('ProgressDeadlineExceeded: ReplicaSet "acme-web-9" has')
    expect(row?.['message']).toContain('ImagePullBackOff: Back-off pulling image "acme/web:9.9"')
    expect(warningsOf(result)).toMatchObject([
      { code: 'rollout_stuck', message: expect.stringContaining('acme-web is stuck: ') },
    ])
  })

  it.each(['ErrImagePull', 'CreateContainerConfigError'])(
    'names the image of a pod that says %s, also of an init container',
    async (reason) => {
      const status = { observedGeneration: 3, replicas: 1, updatedReplicas: 1 }
      serve({ worker: { status } })
      const initContainerStatuses = [
        { image: 'acme/platform:9.9', state: { waiting: { reason, message: 'it says why' } } },
      ]
      servePods([{ metadata: podOf('worker'), status: { initContainerStatuses } }])
      const result = await reportOf('platform_pods')
      expect(codeOf(result)).toBe('deployments_unready')
      expect(rowsOf(result)['acme-worker']?.['message']).toBe(
        `${reason}: it says why (image acme/platform:9.9)`,
      )
    },
  )

  it('says what it can where pods may not be listed', async () => {
    serve({ worker: { status: { observedGeneration: 3 } } })
    stub.intercept = (call, response) =>
      call.path.includes('/pods') && forbidden(response, { verb: 'list', resource: 'pods' })
    const result = await reportOf('platform_pods')
    expect(codeOf(result)).toBe('deployments_unready')
    expect(result.error).toBe('fewer Ready replicas than desired: acme-worker (0/1)')
  })

  it('asks for no pods when every Deployment is as it should be', async () => {
    serve()
    await reportOf('platform_pods')
    expect(stub.calls.filter(({ path }) => path.includes('/pods'))).toEqual([])
  })

  it('says what the cluster says of pods that it cannot make', async () => {
    const conditions = [
      { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: 'none' },
      { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: 'fine' },
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota exceeded' },
    ]
    serve({ web: { replicas: 3, status: { observedGeneration: 3, conditions } } })
    const row = rowsOf(await reportOf('platform_pods'))['acme-web']
    expect(row?.['message']).toBe('MinimumReplicasUnavailable: none FailedCreate: quota exceeded')
  })

  it('asks for what the chart says it made', async () => {
    serve({ buildkit: undefined, 'internal-registry': undefined })
    expect((await reportOf('platform_pods', { PLATFORM_DEPLOYMENTS: 'web,worker' })).status).toBe(
      'ok',
    )
  })

  it('follows the pages of a long list', async () => {
    serve({ 'internal-registry': undefined })
    const first = stub.objects.get(LIST)
    stub.objects.set(LIST, { ...first, metadata: { continue: 'next' } })
    stub.objects.set(`${LIST}&continue=next`, {
      metadata: {},
      items: [deployment('acme-internal-registry', healthy())],
    })
    expect((await reportOf('platform_pods')).status).toBe('ok')
  })

  it('names the missing right', async () => {
    stub.intercept = (_, response) => forbidden(response, { verb: 'list', resource: 'deployments' })
    const result = await reportOf('platform_pods')
    expect(codeOf(result)).toBe('rbac_forbidden')
    expect(result.error).toMatch(/cannot list Deployments in the namespace install: .*forbidden/)
    expect(result.details).toMatchObject({
      forbidden: { verb: 'list', resource: 'deployments.apps', namespace: 'install' },
    })
  })

  it('says that there is no token, and what other answers the API server gave', async () => {
    await unlink(stub.address.tokenFile)
    expect(codeOf(await reportOf('platform_pods'))).toBe('no_service_account_token')
    await stub.setToken('again')
    for (const status of [401, 404, 429, 500]) {
      stub.intercept = (_, response) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ kind: 'Status', reason: 'Because', message: 'so' }))
        return true
      }
      const result = await reportOf('platform_pods')
      expect(codeOf(result)).toBe('k8s_api_unreachable')
      expect(result.error).toMatch(
        new RegExp(`^HTTP ${status} from the Kubernetes API: Because so`),
      )
    }
  })

  it.each([
    ['a closed port', closed, /^ConnectionFailed: /],
    ['a reset', resetting, /^ConnectionFailed: /],
    ['silence', silent, /^TimeoutError: /],
    ['a black hole', blackHole, /^TimeoutError: /],
    ['10 MB', huge, /^ConnectionFailed: .*more than/],
    ['a web page', () => page(), /^HTTP 200 .*without Deployments/],
  ] as const)('fails for %s', async (_, fault, error) => {
    const server = await fault()
    const result = await examineAt('platform_pods', server)
    expect(codeOf(result)).toBe('k8s_api_unreachable')
    expect(result.error).toMatch(error)
    await server.stop()
  })
})

describe('designer', () => {
  const CREWS = ['assistant', 'runner']

  /** The crews' Deployments in a namespace. */
  function serveCrews(namespace = 'crews', ready: Readonly<Record<string, number>> = {}): void {
    for (const slug of CREWS) {
      const name = `crew-${slug}`
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`
      stub.objects.set(path, deployment(name, { ...healthy(ready[slug]), replicas: 1 }))
    }
  }

  it('passes all its checks', async () => {
    serveCrews()
    const result = await reportOf('designer')
    expect(result).toMatchObject({
      status: 'ok',
      checks: [
        'project_table_readable',
        'designer_v2_route_mounted',
        'agent_install_complete',
        'runner_install_complete',
        'crew_pods_ready',
      ],
      details: {
        internal_organization: 'Platform',
        internal_deployments: CREWS.map((slug) => ({
          id: expect.any(Number),
          slug,
          status: 'Crew is Online',
          ready: true,
        })),
        crew_pods_status: 'ok',
        crew_pods: {
          namespaces: ['crews'],
          deployment_count: 2,
          ready_count: 2,
          deployments: CREWS.map((slug) => ({
            slug,
            app_id: `crew-${slug}`,
            namespace: 'crews',
            healthy: true,
          })),
        },
      },
    })
  })

  it.each([
    ['outside Kubernetes', undefined, ENV],
    ['without the namespace of the crews', 'stub', { ...ENV, K8S_NAMESPACE: '' }],
  ])('skips the pods %s, and nothing else', async (_, where, env) => {
    const result = await resultOf('designer', {
      databaseUrl: installation.url,
      env,
      diagnostics: { kubernetes: where ? stub.address : undefined },
    })
    expect(result).toMatchObject({ status: 'ok', details: { crew_pods_status: 'skipped' } })
    expect(result.checks).toHaveLength(4)
    expect(result.details).not.toHaveProperty('crew_pods')
  })

  it('fails when a Deployment is missing or has no ready pod; names the namespace', async () => {
    serveCrews('crews', { assistant: 0 })
    stub.objects.delete('/apis/apps/v1/namespaces/crews/deployments/crew-runner')
    const result = await reportOf('designer')
    expect(codeOf(result)).toBe('crew_pods_unready')
    expect(result.error).toBe(
      'crew(s) without Ready pods: assistant (Deployment crew-assistant: zero Ready pods), ' +
        'runner (Deployment crew-runner: missing); expected in namespace crews',
    )
    expect(result.details).toMatchObject({
      crew_pods_status: 'fail',
      crew_pods: { deployment_count: 2, ready_count: 0 },
    })
    const { remediation } = result.details ?? {}
    expect(remediation).toContain('`helm upgrade acme dist/chart -n install --reuse-values`')
    expect(remediation).toContain(
      '`kubectl -n install delete job -l app.kubernetes.io/component=crews`',
    )
    expect(remediation).toContain('`kubectl -n crews describe deployment crew-assistant`')
    expect(remediation).not.toContain('describe deployment crew-runner')
    expect(result.checks).toContain('runner_install_complete')
  })

  it('says why pods of a crew are not ready, and that a new version does not start', async () => {
    serveCrews('crews', { assistant: 0 })
    const path = '/apis/apps/v1/namespaces/crews/deployments/crew-runner'
    const status = { ...healthy().status, replicas: 2 }
    stub.objects.set(path, deployment('crew-runner', { status: { ...status, updatedReplicas: 0 } }))
    servePods([imageTrouble('crew-assistant'), imageTrouble('crew-runner')], 'crews')
    const result = await reportOf('designer')
    expect(codeOf(result)).toBe('crew_pods_unready')
    expect(result.error).toContain('crew-assistant: zero Ready pods, ImagePullBackOff: Back-off')
    expect(result.error).not.toContain('crew-runner')
    expect(result.details).toMatchObject({
      crew_pods: {
        ready_count: 1,
        deployments: [
          { slug: 'assistant', healthy: false, message: expect.stringContaining('"acme/crew-') },
          { slug: 'runner', healthy: true, message: expect.stringContaining('does not come up') },
        ],
      },
    })
  })

  it('reads the flag when it runs: crews from before it are missing (SPEC 7)', async () => {
    serveCrews()
    await setFlag(installation.sql, {
      name: 'k8s_namespace_isolation',
      organizationId: null,
      enabled: true,
    })
    const namespace = `crews-org-${installation.organizationId}`
    const missing = await reportOf('designer')
    expect(missing.error).toContain(`expected in namespace ${namespace}`)
    serveCrews(namespace)
    expect(await reportOf('designer')).toMatchObject({
      status: 'ok',
      details: { crew_pods: { namespaces: [namespace] } },
    })
    stub.intercept = (_, response) => forbidden(response, { verb: 'get', resource: 'deployments' })
    const refused = await reportOf('designer')
    expect(codeOf(refused)).toBe('rbac_forbidden')
    expect(refused.details?.['remediation']).toMatch(/Set crews\.namespaceIsolation to true/)
    await setFlag(installation.sql, {
      name: 'k8s_namespace_isolation',
      organizationId: null,
      enabled: false,
    })
    expect((await reportOf('designer')).details?.['remediation']).toMatch(
      /set rbac\.create to true/,
    )
  })

  it('tells a missing right from a missing Deployment', async () => {
    stub.intercept = (_, response) => forbidden(response, { verb: 'get', resource: 'deployments' })
    const result = await reportOf('designer')
    expect(codeOf(result)).toBe('rbac_forbidden')
    expect(result.error).toContain('cannot get Deployments in the namespace crews')
    expect(result.error).not.toContain('without Ready pods')
    expect(result.details).toMatchObject({ crew_pods_status: 'fail' })
  })

  it('says in time that the API server is silent, with what it knows', async () => {
    const server = await silent()
    const result = await examineAt('designer', server)
    expect(codeOf(result)).toBe('k8s_api_unreachable')
    expect(result.error).toMatch(/^TimeoutError: /)
    expect(result.checks).toHaveLength(4)
    await server.stop()
  })

  it('fails when a crew is not online or not there, one after the other', async () => {
    serveCrews()
    await installation.sql`update deployments set status = 'Crew has Failed' where slug = 'runner'`
    const runner = await reportOf('designer')
    expect(codeOf(runner)).toBe('runner_install_incomplete')
    expect(runner.error).toBe('runner install incomplete: runner says "Crew has Failed"')
    expect(runner.details).toMatchObject({
      runner: {
        expected_slugs: ['runner'],
        existing_slugs: ['runner'],
        not_online_slugs: ['runner'],
      },
      crew_pods: { deployment_count: 1 },
    })
    await installation.sql`delete from deployments where slug = 'assistant'`
    const both = await reportOf('designer')
    expect(codeOf(both)).toBe('agent_install_incomplete')
    expect(both.details?.['remediation']).toContain(
      '`helm upgrade acme dist/chart -n install --reuse-values`',
    )
    expect(both.error).toMatch(/^agent install incomplete: .*; runner install incomplete: /)
    expect(both.checks).toEqual(['project_table_readable', 'designer_v2_route_mounted'])
  })

  /** What is said of the designer on a platform of its own, with its crews, after a change. */
  async function changed(change: (sql: Database, organizationId: number) => Promise<unknown>) {
    const fresh = await createDatabase('platform')
    const own = connectDatabase(parseAddress(fresh.url), { name: 'test', max: 1 })
    await change(own, await install(own))
    await own.end()
    serveCrews()
    const where = { databaseUrl: fresh.url, env: ENV, diagnostics: { kubernetes: stub.address } }
    const result = await resultOf('designer', where)
    await fresh.drop()
    return result
  }

  it('looks for no pods of an automation that runs on the Runner', async () => {
    const result = await changed(async (own, organizationId) => {
      const projectId = await ensureProject(own, { organizationId, name: 'Digest' })
      await publishVersion(own, projectId, definition)
      const project = { organizationId, projectId }
      const made = await ensureProjectAutomation(own, project)
      expect(made).toMatchObject({ status: 'Crew is Online' })
    })
    expect(result).toMatchObject({
      status: 'ok',
      details: { crew_pods: { deployment_count: 2, ready_count: 2 } },
    })
    expect(result.details?.['internal_deployments']).toHaveLength(2)
  })

  it.each(['projects', 'project_versions', 'executions'])(
    'looks at the installed crews and their pods while %s is unreadable',
    async (table) => {
      const result = await changed((own) => own`alter table ${own(table)} rename to elsewhere`)
      expect(codeOf(result)).toBe('tables_unreadable')
      expect(result.error).toBe(
        `tables not readable: relation "${table}" does not exist (SQLSTATE 42P01)`,
      )
      expect(result.checks).toEqual([
        'designer_v2_route_mounted',
        'agent_install_complete',
        'runner_install_complete',
        'crew_pods_ready',
      ])
      expect(result.details).toMatchObject({
        internal_organization: 'Platform',
        crew_pods_status: 'ok',
      })
    },
  )

  it('keeps what the other layers say while the feature flags are unreadable', async () => {
    const result = await changed((own) => own`alter table feature_flags rename to elsewhere`)
    expect(codeOf(result)).toBe('tables_unreadable')
    expect(result.error).toContain('"feature_flags" does not exist')
    expect(result.checks).toEqual([
      'project_table_readable',
      'designer_v2_route_mounted',
      'agent_install_complete',
      'runner_install_complete',
    ])
    expect(result.details).toMatchObject({ crew_pods_status: 'skipped' })
  })

  it('fails without the internal organization and without tables; checks the rest', async () => {
    const fresh = await createDatabase('platform')
    const missing = await resultOf('designer', { databaseUrl: fresh.url })
    expect(missing.error).toBe('internal organization not found')
    expect(codeOf(missing)).toBe('internal_org_missing')
    await fresh.drop()
    const empty = await createDatabase('empty')
    const unreadable = await resultOf('designer', { databaseUrl: empty.url })
    expect(codeOf(unreadable)).toBe('tables_unreadable')
    expect(unreadable.checks).toEqual(['designer_v2_route_mounted'])
    await empty.drop()
  })
})
