import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { FIXABLE_CODES } from '../../../services/shared/fixable-codes.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { addressUrl } from '../../support/address-url.ts'
import { forbidden } from '../../support/kubernetes.ts'
import type { RecordedCall, StoredObject } from '../../support/kubernetes.ts'
import { CHECKS } from '../../../services/web/diagnostics/checks/list.ts'
import { LIST, startDependencies } from '../web/diagnostics/support/dependencies.ts'
import type { Dependencies } from '../web/diagnostics/support/dependencies.ts'
import { closed, httpServer } from '../web/diagnostics/support/faults.ts'
import type { Fault } from '../web/diagnostics/support/faults.ts'
import { serveWeb, TOKEN } from '../web/diagnostics/support/web.ts'
import type { Web } from '../web/diagnostics/support/web.ts'
import { kubeconfigOf } from './support/landscape.ts'
import { surroundings } from './support/surroundings.ts'

const directory = mkdtempSync(join(tmpdir(), 'fixes-'))
const kubeconfig = join(directory, 'kubeconfig')
const ROLE = 'user of the "platform"'
const OTHER = 'not_the_owner'
const NAMES = ['-n', 'install', '--release', 'acme', '--crews', 'crews', '--db-role', ROLE]
const WORKER = '/apis/apps/v1/namespaces/install/deployments/acme-worker'
const JOBS = '/apis/batch/v1/namespaces/install/jobs'

let world: Dependencies
let web: Web
let owner: Database
/** A web whose reports say what a test wants. */
let liar: Fault
let claim: () => unknown
/** Rights that the operator lacks, such as `patch deployments`. */
const denied = new Set<string>()
/** Runs before each call to the API server. */
let meanwhile: (call: RecordedCall) => void

beforeAll(async () => {
  world = await startDependencies()
  liar = await httpServer((_, response) => void response.end(JSON.stringify(claim())))
  writeFileSync(kubeconfig, stringify(kubeconfigOf(world.kubernetes.address.url)))
  owner = connectDatabase(parseAddress(world.database.url), { name: 'test', max: 2 })
  for (const role of [ROLE, OTHER]) {
    await owner`create role ${owner(role)} login password 'secret'`
  }
  const { objects } = world.kubernetes
  objects.delete(LIST)
  web = await serveWeb(world.options({ databaseUrl: urlOf(ROLE) }))
})

beforeEach(async () => {
  denied.clear()
  meanwhile = () => {}
  claim = () => reportWith(...FIXABLE_CODES)
  const { objects } = world.kubernetes
  for (const component of [
    'web',
    'worker',
    'oauth',
    'buildkit',
    'collector',
    'internal-registry',
  ]) {
    objects.set(pathOf(`acme-${component}`), deployment(`acme-${component}`, component))
  }
  for (const path of objects.keys()) if (path.startsWith(JOBS)) objects.delete(path)
  objects.set(`${JOBS}/acme-setup-1-x`, job('setup', [['setup']]))
  world.kubernetes.calls.length = 0
  world.kubernetes.intercept = (call, response) => {
    if (call.path.includes('selfsubjectaccessreviews')) {
      const { verb, resource } = (call.body as { spec: { resourceAttributes: Right } }).spec
        .resourceAttributes
      const allowed = !denied.has(`${verb} ${resource}`)
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ status: { allowed } }))
      return true
    }
    meanwhile(call)
    const resource = call.path.includes('/jobs') ? 'jobs' : 'deployments'
    const verb = call.method.toLowerCase()
    return denied.has(`${verb}! ${resource}`)
      ? forbidden(response, { verb, resource, namespace: 'install' })
      : false
  }
  await owner.unsafe(`grant all on all tables in schema public to ${quoted(ROLE)}`)
  await owner.unsafe(`grant all on all sequences in schema public to ${quoted(ROLE)}`)
  await owner.unsafe(`grant all on schema public to ${quoted(ROLE)}`)
})

afterEach(() => (world.kubernetes.intercept = () => false))

afterAll(async () => {
  await web.close()
  for (const role of [ROLE, OTHER]) {
    await owner.unsafe(`drop owned by ${quoted(role)}; drop role ${quoted(role)}`)
  }
  await owner.end()
  await liar.stop()
  await world.stop()
  rmSync(directory, { recursive: true })
})

interface Right {
  readonly verb: string
  readonly resource: string
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const urlOf = (user: string): string =>
  addressUrl({ ...parseAddress(world.database.url), user, password: 'secret' })
const pathOf = (name: string): string => `/apis/apps/v1/namespaces/install/deployments/${name}`

const deployment = (name: string, component: string, instance = 'acme'): StoredObject => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    labels: {
      'app.kubernetes.io/instance': instance,
      'app.kubernetes.io/component': component,
      'app.kubernetes.io/part-of': 'platform',
    },
  },
  spec: { replicas: 1, template: { metadata: {}, spec: { containers: [{ name: component }] } } },
  status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1 },
})

const job = (component: string, tasks: readonly (readonly string[])[]): StoredObject => ({
  metadata: {
    name: `acme-${component}-1-x`,
    uid: `uid-${component}`,
    creationTimestamp: '2026-11-01T00:00:00Z',
    labels: {
      'app.kubernetes.io/instance': 'acme',
      'app.kubernetes.io/component': component,
      'job-name': 'x',
    },
  },
  spec: {
    template: {
      metadata: { labels: { 'app.kubernetes.io/component': component, 'job-name': 'x' } },
      spec: {
        serviceAccountName: `acme-${component}`,
        containers: tasks.map((task) => ({
          name: 'x',
          image: 'platform:1',
          command: ['node', 'build/tasks/main.js', ...task],
          env: [{ name: 'DB_HOST', value: 'db' }],
        })),
      },
    },
  },
  status: { conditions: [{ type: 'Complete', status: 'True' }] },
})

interface Spec {
  readonly replicas: number
  readonly template: {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
    readonly spec: object
  }
}

const specOf = (path: string): Spec => {
  const found = world.kubernetes.objects.get(path)
  if (!found) throw new Error(`There is no ${path}.`)
  return found['spec'] as Spec
}

const replicas = (): number => specOf(WORKER).replicas

function sleepWorker(): void {
  const asleep = deployment('acme-worker', 'worker')
  const spec = { ...(asleep['spec'] as object), replicas: 0 }
  world.kubernetes.objects.set(WORKER, { ...asleep, spec, status: { observedGeneration: 1 } })
}

/** What the controller of Deployments does once it sees a change. */
function rollOut(): void {
  meanwhile = ({ method }) => {
    const found = world.kubernetes.objects.get(WORKER)
    if (method !== 'GET' || !found || replicas() === 0) return
    const { generation } = found.metadata
    const [count, observedGeneration] = [replicas(), generation]
    const status = {
      observedGeneration,
      replicas: count,
      readyReplicas: count,
      updatedReplicas: count,
    }
    world.kubernetes.objects.set(WORKER, { ...found, status })
  }
}

/** Calls that changed something, or might have. */
const writes = (): readonly string[] =>
  world.kubernetes.calls
    .filter(({ method, path }) => method !== 'GET' && !path.includes('selfsubject'))
    .map(({ method, path }) => `${method} ${path.split('?', 1)[0]}`)

interface Run {
  readonly url?: string
  readonly env?: Record<string, string>
  readonly confirm?: (question: string) => Promise<boolean>
}

async function fix(args: readonly string[], { url = liar.url, env = {}, confirm }: Run = {}) {
  const outside = { ...surroundings(), confirm }
  const all = ['--fix', '--url', url, '--kubeconfig', kubeconfig, ...NAMES, '--wait', '30', ...args]
  const result = await runDoctor(all, { PLATFORM_DEBUG_TOKEN: TOKEN, ...env }, outside)
  return { ...result, said: outside.said.join('') }
}

/** The state and the reason of the one code. */
async function fixOne(code: string, args: readonly string[] = ['--yes'], run: Run = {}) {
  const { exitCode, stdout } = await fix(['--only', code, '--json', ...args], run)
  const { fixes } = JSON.parse(stdout) as { fixes: { state: string; reason?: string }[] }
  expect(fixes).toHaveLength(1)
  return { exitCode, state: '', reason: '', ...fixes[0] }
}

const reportWith = (...codes: readonly string[]) => ({
  status: 'degraded',
  duration_ms: 1,
  environment: { platform: true, auth_provider: 'local', version: '1' },
  components: Object.fromEntries(
    codes.map((code) => [
      `of ${code}`,
      { status: 'fail', error: 'x', details: { code, remediation: 'x' } },
    ]),
  ),
})

/** A report that has the code until a Deployment or a Job is changed. */
function claimUntilWritten(code: string): void {
  const [there, gone] = [reportWith(code), reportWith('x')]
  claim = () => (writes().length === 0 ? there : { ...gone, components: { [`of ${code}`]: OK } })
}

const OK = { status: 'ok', latency_ms: 1 }

describe('doctor --fix', () => {
  it('wakes what is scaled to zero, and verifies it by the check of web', async () => {
    sleepWorker()
    rollOut()
    const { exitCode, stdout, said } = await fix(['--yes', '--only', 'deployments_unready'], web)
    expect(stdout).toBe(
      'deployments_unready: verified\n  Deployment install/acme-worker: 0 replicas → 1 replica ' +
        '(patch deployments.apps in the namespace install)\n',
    )
    expect(said).toContain('deployments_unready: planned\n  Deployment install/acme-worker')
    expect(exitCode).toBe(0)
    expect(replicas()).toBe(1)
  })

  it('takes back what did not help within the time', async () => {
    sleepWorker()
    const { exitCode, state, reason } = await fixOne('deployments_unready')
    expect({ exitCode, state }).toEqual({ exitCode: 2, state: 'failed' })
    expect(reason).toBe(
      'The report still has it. Taken back: Deployment install/acme-worker: 1 replica.',
    )
    expect(replicas()).toBe(0)
  })

  describe('of a rollout that is stuck', () => {
    const SETS = '/apis/apps/v1/namespaces/install/replicasets'
    const template = (image: string, extra: object = {}) => ({
      metadata: { labels: { app: 'worker' }, ...extra },
      spec: { containers: [{ name: 'worker', image }], ...(image === 'new' && { hostname: 'x' }) },
    })
    // As the pods have them: fewer than those of their Deployment.
    const labels = { 'app.kubernetes.io/component': 'worker', 'pod-template-hash': 'abc' }
    const selector = { matchLabels: { 'app.kubernetes.io/component': 'worker' } }
    const set = (revision: number, image: string, readyReplicas: number): StoredObject => ({
      metadata: {
        name: `acme-worker-${revision}`,
        annotations: { 'deployment.kubernetes.io/revision': String(revision) },
        labels,
        ownerReferences: [{ uid: 'uid-acme-worker' }],
      },
      spec: {
        template: template(image, { labels: { app: 'worker', 'pod-template-hash': 'abc' } }),
      },
      status: { readyReplicas },
    })
    const stage = (...sets: readonly StoredObject[]): void => {
      const { objects } = world.kubernetes
      const stuck = deployment('acme-worker', 'worker')
      const annotations = { 'deployment.kubernetes.io/revision': '3' }
      const metadata = { ...stuck.metadata, annotations }
      const spec = { replicas: 1, selector, template: template('new') }
      objects.set(WORKER, { ...stuck, metadata, spec })
      for (const each of sets) objects.set(`${SETS}/${String(each.metadata.name)}`, each)
    }
    afterEach(() => {
      const { objects } = world.kubernetes
      for (const path of objects.keys()) if (path.startsWith(SETS)) objects.delete(path)
    })

    it('gives back the pods of the newest version that serves', async () => {
      stage(set(3, 'new', 0), set(2, 'middle', 0), set(1, 'old', 1))
      claimUntilWritten('rollout_stuck')
      const { exitCode, stdout } = await fix(['--yes', '--only', 'rollout_stuck'])
      expect(stdout).toBe(
        'rollout_stuck: verified\n  Deployment install/acme-worker: the pods of revision 3, none ' +
          'ready → those of revision 1, which serve (patch deployments.apps in the namespace ' +
          'install)\n',
      )
      expect(exitCode).toBe(0)
      expect(specOf(WORKER)).toEqual({ replicas: 1, selector, template: template('old') })
    })

    it('takes back what did not help, to the last field', async () => {
      stage(set(3, 'new', 0), set(1, 'old', 1))
      const { state } = await fixOne('rollout_stuck')
      expect(state).toBe('failed')
      expect(specOf(WORKER)).toEqual({ replicas: 1, selector, template: template('new') })
    })

    it.each([
      ['new pods are ready', [set(3, 'new', 1), set(1, 'old', 1)]],
      ['nothing serves', [set(3, 'new', 0), set(1, 'old', 0)]],
      [
        'the pods that serve are of another Deployment',
        [
          set(3, 'new', 0),
          { ...set(1, 'old', 1), metadata: { name: 'x', labels, ownerReferences: [{ uid: 'y' }] } },
        ],
      ],
    ])('changes nothing where %s', async (_, sets) => {
      stage(...sets)
      const { state, reason } = await fixOne('rollout_stuck')
      expect({ state, reason }).toEqual({
        state: 'not_applied',
        reason: 'Of no Deployment do pods of an older version serve while new ones do not.',
      })
      expect(writes()).toEqual([])
    })
  })

  it('shows with --dry-run what it would change, and changes nothing', async () => {
    sleepWorker()
    const { exitCode, state } = await fixOne('deployments_unready', ['--dry-run'])
    expect({ exitCode, state }).toEqual({ exitCode: 1, state: 'planned' })
    expect(writes()).toEqual([])
  })

  it('asks a person, and takes no for an answer', async () => {
    sleepWorker()
    const { state, reason } = await fixOne('deployments_unready', [], {
      confirm: async () => false,
    })
    expect({ state, reason }).toEqual({ state: 'not_applied', reason: 'It was not confirmed.' })
    expect(writes()).toEqual([])
  })

  it('refuses to run without a terminal and without --yes, before it asks anybody', async () => {
    const { exitCode, stderr } = await fix(['--only', 'deployments_unready'])
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(/^No terminal to ask at: pass --yes or --dry-run\./)
    expect(world.kubernetes.calls).toEqual([])
  })

  it('refuses to run in a pod, whose rights are not the operator’s', async () => {
    const { exitCode, stderr } = await fix(['--yes'], {
      env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
    })
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(/^--fix has your own rights, never those of a pod/)
  })

  it.each([
    [
      ['--only', 'deployment_unready'],
      /no fix for "deployment_unready"\. Did you mean deployments_un/,
    ],
    [['--skip', 'database'], /--skip/],
    [['--wait', '0'], /--wait takes seconds/],
  ])('refuses wrong use: %j', async (args, message) => {
    const { exitCode, stderr } = await fix(['--yes', ...args])
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(message)
  })

  it('says that there is nothing to fix, or that the report does not have a code', async () => {
    expect(await fix(['--yes'], web)).toMatchObject({
      exitCode: 0,
      stdout: 'The report has no code that this can fix.\n',
    })
    claim = () => reportWith('x')
    const { state, reason, exitCode } = await fixOne('oauth_key_missing')
    expect({ state, exitCode }).toEqual({ state: 'not_applied', exitCode: 1 })
    expect(reason).toBe('The report does not have it.')
    expect(writes()).toEqual([])
  })

  it('fixes by --only without a report, and takes back what no report can verify', async () => {
    const gone = await closed()
    expect((await fix(['--yes'], gone)).exitCode).toBe(3)
    sleepWorker()
    const { state, reason } = await fixOne('deployments_unready', ['--yes'], gone)
    expect(state).toBe('unverified')
    expect(reason).toMatch(/^No report says whether it helped: Not reachable.*\. Taken back: /)
    expect(replicas()).toBe(0)
  })

  it.each([
    ['oauth_key_missing', ['web']],
    ['build_registry_refused', ['internal-registry', 'worker']],
    ['buildkit_tls_failed', ['buildkit']],
  ])('restarts for %s what reads the keys', async (code, components) => {
    claimUntilWritten(code)
    expect(await fixOne(code)).toMatchObject({ state: 'verified' })
    for (const component of components) {
      const { template } = specOf(pathOf(`acme-${component}`))
      const { annotations } = template.metadata
      expect(annotations['kubectl.kubernetes.io/restartedAt']).toMatch(/^\d{4}-.*Z$/)
      expect(template.spec).toEqual({ containers: [{ name: component }] })
    }
    expect(writes()).toHaveLength(components.length)
  })

  it('runs the set-up again as the chart’s Job does, once for two codes that want it', async () => {
    const codes = ['internal_org_missing', 'tool_repository_missing']
    claim = () => (writes().length === 0 ? reportWith(...codes) : withOk(codes))
    const { exitCode, stdout } = await fix(['--yes'])
    expect(stdout.match(/: verified$/gm)).toHaveLength(2)
    expect(exitCode).toBe(0)
    expect(writes()).toEqual([`POST ${JOBS}`])
    const made = [...world.kubernetes.objects].find(([path]) => path.includes('acme-setup-fix-'))
    const before = job('setup', [['setup']])['spec'] as { template: { spec: object } }
    expect(made?.[1]).toMatchObject({
      metadata: { labels: { 'platform/doctor': 'true' } },
      spec: { template: { spec: before.template.spec } },
    })
    expect(JSON.stringify(made)).not.toContain('job-name')
  })

  it('deletes the Job again where it did not help', async () => {
    claim = () => reportWith('tool_repository_missing')
    expect(await fixOne('tool_repository_missing')).toMatchObject({
      state: 'failed',
    })
    expect(writes()).toEqual([`POST ${JOBS}`, expect.stringMatching(/^DELETE .*acme-setup-fix-/)])
    expect([...world.kubernetes.objects.keys()].filter((path) => path.includes('-fix-'))).toEqual(
      [],
    )
  })

  it('runs no other program than the tasks of the chart', async () => {
    claim = () => reportWith('internal_org_missing')
    world.kubernetes.objects.set(`${JOBS}/acme-setup-1-x`, job('setup', [['users:create', 'me']]))
    const { state, reason } = await fixOne('internal_org_missing')
    expect(state).toBe('not_applied')
    expect(reason).toMatch(/^The Job acme-setup-1-x is not as the chart makes it/)
    expect(writes()).toEqual([])
  })

  it('says so where a Job has not ended, and where there is none', async () => {
    claim = () => reportWith('agent_install_incomplete')
    const none = await fixOne('agent_install_incomplete')
    expect(none.reason).toMatch(/^There is no Job crews to run again/)
    const tasks = [['designer:agent:install'], ['designer:runner:install']]
    world.kubernetes.objects.set(`${JOBS}/acme-crews-1-x`, { ...job('crews', tasks), status: {} })
    const open = await fixOne('agent_install_incomplete')
    expect(open.reason).toMatch(/^The Job acme-crews-1-x has not ended/)
  })
})

const withOk = (codes: readonly string[]) => ({
  ...reportWith(),
  components: Object.fromEntries(codes.map((code) => [`of ${code}`, OK])),
})

/** Confirms when two have asked. */
function onceBoth(): () => Promise<boolean> {
  const waiting: ((isConfirmed: boolean) => void)[] = []
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 2) for (const go of waiting) go(true)
    })
}

it('is in the manual with each code, and in the remedies', async () => {
  const manual = readFileSync(new URL('../../../docs/troubleshoot.md', import.meta.url), 'utf8')
  const [, section = ''] = manual.split('## Fix what has a command for it')
  const [table = ''] = section.split('Each code ends')
  const documented = [...table.matchAll(/`([a-z_]+)`(?=[^|]*\|[^|]*\|[^|]*\|$)/gm)]
  const codes = documented.map(([, code = '']) => code).filter((code) => code.includes('_'))
  expect(codes.toSorted()).toEqual([...FIXABLE_CODES].toSorted())
  const remedies = Object.values(CHECKS).flatMap(({ failures, warnings = {} }) =>
    Object.values({ ...failures, ...warnings }),
  )
  const named = remedies.filter(({ code, remediation }) =>
    remediation.includes(`\`doctor --fix --only ${code}\``),
  )
  const known = new Set([...named.map(({ code }) => code), 'db_auth_failed'])
  expect([...known].toSorted()).toEqual([...FIXABLE_CODES].toSorted())
})

describe('doctor --fix grants', () => {
  const login = () => ({ env: { DATABASE_URL: world.database.url } })
  const revoke = () =>
    owner.unsafe(`revoke select on projects from ${quoted(ROLE)};
      revoke insert, update on executions from ${quoted(ROLE)}`)
  const canRead = async (): Promise<boolean> => {
    const [row] = await owner<[{ can: boolean }]>`
      select has_table_privilege(${ROLE}, 'projects', 'SELECT') as can`
    return row.can
  }

  it('what the user of the platform lacks, table by table, and web reads again', async () => {
    await revoke()
    const { stdout, exitCode } = await fix(['--yes', '--only', 'tables_unreadable'], {
      ...login(),
      url: web.url,
    })
    expect(stdout).toContain(
      `  TABLE public.executions: ${ROLE} lacks INSERT, UPDATE → ${ROLE} has INSERT, UPDATE`,
    )
    expect(stdout).toMatch(/^tables_unreadable: verified\n/)
    expect(stdout).toMatch(/TABLE public\.projects: .* has SELECT \(GRANT on .*, as its owner /)
    expect(exitCode).toBe(0)
    expect(await canRead()).toBe(true)
  })

  it('nothing for good that did not help', async () => {
    await revoke()
    claim = () => reportWith('tables_unreadable')
    const { state, reason } = await fixOne('tables_unreadable', ['--yes'], login())
    expect(state).toBe('failed')
    expect(reason).toMatch(/Taken back: TABLE public\.projects/)
    expect(await canRead()).toBe(false)
  })

  it('the right to connect', async () => {
    const { database } = parseAddress(world.database.url)
    await owner.unsafe(`revoke connect on database ${database} from public`)
    let asked = 0
    claim = () => (++asked === 1 ? reportWith('db_auth_failed') : withOk(['db_auth_failed']))
    const run = login()
    expect(await fixOne('db_auth_failed', ['--yes'], run)).toMatchObject({
      state: 'verified',
      changes: [{ what: `DATABASE ${database}`, to: `${ROLE} has CONNECT` }],
    })
    await owner.unsafe(`grant connect on database ${database} to public`)
    // The right is there: the pods may have a password of before.
    claim = () => reportWith('db_auth_failed')
    const again = await fixOne('db_auth_failed', ['--dry-run'], run)
    expect(JSON.stringify(again)).toContain('Deployment install/acme-web')
  })

  it('not with a login that is not the owner', async () => {
    await revoke()
    const env = { DATABASE_URL: urlOf(OTHER) }
    const { state, reason } = await fixOne('tables_unreadable', ['--yes'], { env })
    expect(state).toBe('not_applied')
    expect(reason).toMatch(
      /^Your database login is not the owner of TABLE public\.executions: log in/,
    )
    expect(await canRead()).toBe(false)
  })

  it('not without a login, nor to a user that is not there', async () => {
    await revoke()
    expect((await fixOne('tables_unreadable')).reason).toMatch(/^DATABASE_URL is not set/)
    const args = ['--yes', '--db-role', `x"; drop table projects; --`]
    const { state, reason } = await fixOne('tables_unreadable', args, login())
    expect(state).toBe('not_applied')
    expect(reason).toMatch(/^There is no database user "x"; drop/)
  })

  it('not what another hand changed between plan and confirmation', async () => {
    await revoke()
    const { state, reason } = await fixOne('tables_unreadable', [], {
      ...login(),
      confirm: async () => {
        await owner.unsafe(`grant select on executions to ${OTHER}`)
        return true
      },
    })
    await owner.unsafe(`revoke select on executions from ${OTHER}`)
    expect(state).toBe('not_applied')
    expect(reason).toMatch(/^TABLE public\.executions was changed meanwhile/)
    expect(await canRead()).toBe(false)
  })

  it('once, where two doctors run at the same time', async () => {
    await revoke()
    const confirm = onceBoth()
    const runs = [1, 2].map(() =>
      fixOne('tables_unreadable', [], { ...login(), confirm, url: web.url }),
    )
    const states = (await Promise.all(runs)).map(({ state }) => state)
    expect(states).toContain('verified')
    expect(states.filter((state) => state === 'verified')).toHaveLength(1)
    expect(await canRead()).toBe(true)
  })
})

describe('doctor --fix is safe from', () => {
  it('a hostile web, of which it takes the codes that it knows and nothing else', async () => {
    const names = [
      'kube-system',
      '../../kube-system/secrets',
      '--yes',
      'acme-web; drop table projects',
    ]
    const details = {
      code: 'deployments_unready',
      remediation: 'kubectl delete namespace kube-system',
      namespace: 'kube-system',
      deployments: names.map((name) => ({ name, namespace: name, condition: 'scaled_to_zero' })),
      warnings: [...FIXABLE_CODES, '__proto__', 'constructor', 'toString'].map((code) => ({
        code,
        message: '\u001B[2J',
        remediation: 'x',
      })),
    }
    claim = () => ({ ...reportWith(), components: { ['__proto__x']: { status: 'fail', details } } })
    sleepWorker()
    const url = { ...liar, env: { DATABASE_URL: world.database.url } }
    const { stdout } = await fix(['--dry-run'], url)
    expect(writes()).toEqual([])
    const places = world.kubernetes.calls.map(({ path }) => path.split('/namespaces/')[1] ?? '')
    expect(places.filter((place) => place && !/^(install|crews)\//.test(place))).toEqual([])
    expect(stdout).not.toMatch(/kube-system|drop table/)
    const targets = [...stdout.matchAll(/^ {2}(\w+ \S+): .* → /gm)].map(([, what]) => what)
    expect(targets.length).toBeGreaterThan(4)
    for (const target of targets) expect(target).toMatch(/^(Deployment|Job) install\/acme-/)
  })

  it('a report that is large, none, or of another shape', async () => {
    for (const answer of [
      'x',
      {},
      { ...reportWith(), components: { a: 1 } },
      'x'.repeat(5 << 20),
    ]) {
      claim = () => answer
      expect((await fix(['--yes'])).exitCode).toBe(3)
    }
    expect(writes()).toEqual([])
  })

  it('objects of another release in the same namespace', async () => {
    const foreign = deployment('acme-worker', 'worker', 'other')
    world.kubernetes.objects.set(WORKER, { ...foreign, spec: { replicas: 0, template: {} } })
    const { state, reason } = await fixOne('deployments_unready')
    expect(state).toBe('not_applied')
    expect(reason).toMatch(
      /not of this installation: it has no label app\.kubernetes\.io\/instance=acme/,
    )
    expect(replicas()).toBe(0)
  })

  it('another namespace', async () => {
    sleepWorker()
    const { reason } = await fixOne('deployments_unready', ['--yes', '-n', 'elsewhere'])
    expect(reason).toMatch(/^There is no Deployment elsewhere\/acme-web, elsewhere\/acme-worker, /)
    expect(writes()).toEqual([])
  })

  it.each([
    ['patch deployments', 'deployments_unready', 'patch deployments.apps'],
    ['patch! deployments', 'deployments_unready', 'patch deployments.apps'],
    ['get! deployments', 'deployments_unready', 'get deployments.apps'],
    ['create jobs', 'tool_repository_missing', 'create jobs.batch'],
    ['delete jobs', 'tool_repository_missing', 'delete jobs.batch'],
    ['post! jobs', 'tool_repository_missing', 'create jobs.batch'],
  ])('a kubeconfig without the right: %s', async (right, code, named) => {
    sleepWorker()
    claim = () => reportWith(code)
    denied.add(right)
    const { state, reason, exitCode } = await fixOne(code)
    expect({ state, exitCode }).toEqual({ state: 'not_applied', exitCode: 1 })
    expect(reason).toContain(`Your kubeconfig lacks the right to ${named} in the namespace install`)
    expect(replicas()).toBe(0)
  })

  it('an operator who changes the Deployment between plan and confirmation', async () => {
    sleepWorker()
    const { state, reason } = await fixOne('deployments_unready', [], {
      confirm: async () => {
        const found = world.kubernetes.objects.get(WORKER) as StoredObject
        const metadata = { ...found.metadata, generation: 2, resourceVersion: '2' }
        world.kubernetes.objects.set(WORKER, { ...found, metadata })
        return true
      },
    })
    expect(state).toBe('not_applied')
    expect(reason).toMatch(/^The Deployment install\/acme-worker was changed meanwhile/)
    expect(writes()).toEqual([])
  })

  it('a status that changes in the middle, which is nobody’s hand', async () => {
    sleepWorker()
    let patches = 0
    meanwhile = ({ method }) => {
      const found = world.kubernetes.objects.get(WORKER) as StoredObject
      if (method !== 'PATCH' || ++patches > 2) return
      const metadata = { ...found.metadata, resourceVersion: `10${patches}` }
      world.kubernetes.objects.set(WORKER, { ...found, metadata })
    }
    claimUntilWritten('deployments_unready')
    expect(await fixOne('deployments_unready')).toMatchObject({
      state: 'verified',
    })
    expect(patches).toBe(3)
    expect(replicas()).toBe(1)
  })

  it('taking back what a person changed after it', async () => {
    sleepWorker()
    claim = () => {
      if (replicas() === 1) {
        const found = world.kubernetes.objects.get(WORKER) as StoredObject
        const spec = { ...(found['spec'] as object), replicas: 3 }
        const metadata = { ...found.metadata, generation: 9 }
        world.kubernetes.objects.set(WORKER, { ...found, spec, metadata })
      }
      return reportWith('deployments_unready')
    }
    const { state, reason } = await fixOne('deployments_unready')
    expect(state).toBe('failed')
    expect(reason).toMatch(
      /NOT taken back, The Deployment install\/acme-worker was changed meanwhile/,
    )
    expect(replicas()).toBe(3)
  })

  it('a second doctor: one of them runs the set-up, the other one does not', async () => {
    claimUntilWritten('tool_repository_missing')
    const confirm = onceBoth()
    const runs = [1, 2].map(() => fixOne('tool_repository_missing', [], { confirm }))
    const states = (await Promise.all(runs)).map(({ state }) => state).toSorted()
    expect(states).toEqual(['not_applied', 'verified'])
  })

  it('half of a change: what was made before a refusal is taken back', async () => {
    claim = () => reportWith('build_registry_refused')
    meanwhile = ({ method }) => {
      if (method === 'PATCH') setImmediate(() => denied.add('patch! deployments'))
    }
    const { state, reason } = await fixOne('build_registry_refused')
    expect(state).toBe('failed')
    expect(reason).toMatch(/lacks the right to patch.*taken back/i)
  })
})
