import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { PREFLIGHT_NAMES } from '../../../services/doctor/preflight/command.ts'
import { INSTALLED } from '../../../services/doctor/preflight/checks/rights.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { addressUrl } from '../../support/address-url.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { startLandscape, storageClasses, versionObject } from './support/landscape.ts'
import type { Landscape } from './support/landscape.ts'
import { surroundings } from './support/surroundings.ts'

const isReport = new Ajv({ strict: false }).compile(
  JSON.parse(
    readFileSync(new URL('../../../docs/doctor-report.schema.json', import.meta.url), 'utf8'),
  ) as object,
)

const directory = mkdtempSync(join(tmpdir(), 'preflight-'))
const ROLE = 'preflight_installer'
let landscape: Landscape
let main: TestDatabase
let traces: TestDatabase
let owner: postgres.Sql

beforeAll(async () => {
  landscape = await startLandscape(directory)
  main = await createDatabase('platform')
  traces = await createDatabase('empty')
  owner = postgres(main.url, { max: 1, onnotice: () => {} })
  await owner.unsafe(`create role ${ROLE} login password 'installer'`)
})

afterAll(async () => {
  await owner.unsafe(`drop owned by ${ROLE}; drop role ${ROLE}`)
  await owner.end()
  await main.drop()
  await traces.drop()
  await landscape.stop()
  rmSync(directory, { recursive: true })
})

const mend: (() => void)[] = []
afterEach(() => {
  for (const each of mend.splice(0)) each()
})

interface Component {
  readonly status: string
  readonly checks?: readonly string[]
  readonly error?: string
  readonly details?: Readonly<Record<string, unknown>>
}

const databases = () => ({ DATABASE_URL: main.url, COLLECTOR_DATABASE_URL: traces.url })

async function preflight(args: readonly string[] = [], env: Record<string, string> = {}) {
  const { kubeconfig, values } = landscape
  const base = ['--pre', '--values', values, '--kubeconfig', kubeconfig, '--json']
  const variables = { ...databases(), HOME: directory, ...env }
  const { exitCode, stdout, stderr } = await runDoctor(
    [...base, ...args],
    variables,
    surroundings(),
  )
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as { status: string; components: Record<string, Component> }
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true)
  return { exitCode, report }
}

/** Runs one check alone. */
async function check(name: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const { report } = await preflight(['--only', name, ...args], env)
  const [component] = Object.values(report.components)
  return component ?? { status: 'none' }
}

const codeOf = ({ details }: Component): unknown => details?.['code']

describe('doctor --pre', () => {
  it('finds that all is there which an installation needs', async () => {
    const { exitCode, report } = await preflight(['--egress', landscape.provider.url])
    expect(report.components).toMatchObject({
      cluster: { status: 'ok', details: { cluster: 'the context test', version: 'v1.30.0' } },
      rights: { status: 'ok' },
      storage: { status: 'ok', details: { default: 'standard' } },
      registry: { status: 'ok', checks: ['images_found'] },
      database: { status: 'ok', checks: ['login', 'version', 'grants'] },
      collector_database: { status: 'ok' },
      auth: { status: 'ok', provider: 'keycloak' },
      egress: { status: 'ok' },
      clock: { status: 'ok' },
    })
    expect(Object.keys(report.components)).toEqual(PREFLIGHT_NAMES)
    expect([exitCode, report.status]).toEqual([0, 'ok'])
  })

  it('skips what the chart brings along, and says why', async () => {
    const { stdout } = await runDoctor(
      ['--pre', '--only', 'database,registry,auth,egress'],
      {},
      surroundings(),
    )
    expect(stdout).toMatch(/skipped +database +the chart brings its own PostgreSQL/)
    expect(stdout).toMatch(/skipped +registry +no registry is named/)
  })

  it.each([
    [['--pre', '--url', 'http://x'], /--url asks a platform/],
    [['--values', 'x.yaml'], /--values needs --pre/],
    [['--pre', '--values', '/nowhere.yaml'], /cannot be read/],
    [['--pre', '--only', 'storge'], /no check "storge". Did you mean storage\?/],
    [['--pre', '--image', 'platform'], /no image with its registry/],
  ])('explains its use for %j', async (args, problem) => {
    const { exitCode, stderr } = await runDoctor(args, {}, surroundings())
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(problem)
  })
})

describe('a fault before an installation has a code, and its remedy cures it:', () => {
  it('no cluster', async () => {
    const args = ['--pre', '--only', 'cluster', '--json']
    const none = await runDoctor(args, { HOME: join(directory, 'nobody') }, surroundings())
    expect(none.exitCode).toBe(2)
    expect(none.stdout).toMatch(/cluster_unreachable/)
    expect((await check('cluster')).status).toBe('ok')
  })

  it('an old cluster', async () => {
    landscape.cluster.objects.set('/version', versionObject('29+'))
    expect(codeOf(await check('cluster'))).toBe('cluster_too_old')
    landscape.cluster.objects.set('/version', versionObject('30+'))
    expect((await check('cluster')).status).toBe('ok')
  })

  it('missing rights, each named', async () => {
    landscape.state.denied.add('create roles').add('create namespaces')
    const failure = await check('rights')
    expect(codeOf(failure)).toBe('rights_missing')
    expect(failure.error).toMatch(
      /namespace platform: create roles\.rbac\.authorization\.k8s\.io, create namespaces$/,
    )
    landscape.state.denied.clear()
    expect((await check('rights')).status).toBe('ok')
  })

  it('no default StorageClass', async () => {
    const path = '/apis/storage.k8s.io/v1/storageclasses'
    landscape.cluster.objects.set(path, storageClasses(false))
    const failure = await check('storage')
    expect(codeOf(failure)).toBe('storage_class_missing')
    expect(failure.error).toBe('there is no default StorageClass')
    landscape.cluster.objects.set(path, storageClasses(true))
    expect((await check('storage')).status).toBe('ok')
  })

  it('a registry that wants a login', async () => {
    landscape.state.isPrivate = true
    mend.push(() => (landscape.state.isPrivate = false))
    expect(codeOf(await check('registry'))).toBe('registry_refused')
    const login = { REGISTRY_USERNAME: 'me', REGISTRY_PASSWORD: 'pass' }
    expect((await check('registry', login)).status).toBe('ok')
  })

  it('an image that was not pushed', async () => {
    landscape.state.images.delete('crew-platform/collector')
    const failure = await check('registry')
    expect(codeOf(failure)).toBe('image_missing')
    expect(failure.error).toMatch(/does not have 127.*crew-platform\/collector:0\.1\.2$/)
    landscape.state.images.add('crew-platform/collector')
    expect((await check('registry')).status).toBe('ok')
  })

  it('a registry that is not there', async () => {
    const failure = await check('registry', {}, ['--image', '127.0.0.1:9/platform:1'])
    expect(codeOf(failure)).toBe('registry_unreachable')
  })

  it('an image that the nodes cannot pull', async () => {
    const { cluster } = landscape
    const pods = '/api/v1/namespaces/platform/pods'
    const answer = cluster.intercept
    let status: object = {
      phase: 'Pending',
      containerStatuses: [
        { name: 'pull', state: { waiting: { reason: 'ErrImagePull', message: 'no such host' } } },
      ],
    }
    cluster.intercept = (call, response) => {
      if (call.method !== 'POST' || call.path !== pods) return answer(call, response)
      const pod = call.body as { metadata: { name: string; labels: Record<string, string> } }
      cluster.objects.set(`${pods}/${pod.metadata.name}`, { ...pod, status })
      response.writeHead(201).end('{}')
      return true
    }
    mend.push(() => (cluster.intercept = answer))
    const failure = await check('registry', {}, ['--pull', '--pull-secret', 'pull'])
    expect(codeOf(failure)).toBe('image_pull_failed')
    expect(failure.error).toMatch(/ErrImagePull: no such host$/)
    status = { phase: 'Succeeded' }
    expect((await check('registry', {}, ['--pull'])).checks).toContain('image_pulled_by_node')
    expect([...cluster.objects.keys()].filter((path) => path.startsWith(`${pods}/`))).toEqual([])
  })

  it('a database user without the grants that a login by IAM needs', async () => {
    const address = { ...parseAddress(main.url), user: ROLE, password: 'installer' }
    const env = { DATABASE_URL: addressUrl(address) }
    const failure = await check('database', env)
    expect(codeOf(failure)).toBe('db_grants_missing')
    expect(failure.error).toMatch(/no CREATE on the schema public; no right to read and write /)
    expect(failure.details?.['remediation']).toMatch(/as its owner: GRANT CREATE ON SCHEMA public/)
    const statements = failure.details?.['statements'] as string[]
    await owner.unsafe(statements.join(';'))
    expect((await check('database', env)).status).toBe('ok')
  })

  it('a login that PostgreSQL refuses', async () => {
    const address = { ...parseAddress(main.url), user: 'nobody-knows' }
    expect(codeOf(await check('database', { DATABASE_URL: addressUrl(address) }))).toBe(
      'db_auth_failed',
    )
  })

  it('a database that is not there', async () => {
    const address = { ...parseAddress(main.url), database: 'nothing' }
    expect(codeOf(await check('database', { DATABASE_URL: addressUrl(address) }))).toBe(
      'db_unreachable',
    )
  })

  it('a server that speaks no TLS', async () => {
    const url = `${main.url}?sslmode=require`
    expect(codeOf(await check('database', { DATABASE_URL: url }))).toBe('db_tls_failed')
  })

  it('one database for both', async () => {
    const env = { COLLECTOR_DATABASE_URL: main.url }
    expect(codeOf(await check('collector_database', env))).toBe('db_shared')
    expect((await check('collector_database')).status).toBe('ok')
  })

  it('an identity provider without keys', async () => {
    landscape.state.keys = []
    expect(codeOf(await check('auth'))).toBe('idp_keys_missing')
    landscape.state.keys = [{ kty: 'RSA', use: 'sig' }]
    expect((await check('auth')).status).toBe('ok')
  })

  it('another issuer', async () => {
    landscape.state.issuerPath = '/realms/other'
    mend.push(() => (landscape.state.issuerPath = ''))
    const failure = await check('auth')
    expect(codeOf(failure)).toBe('idp_issuer_mismatch')
    const [, named = ''] = /document names (\S+)$/.exec(failure.error ?? '') ?? []
    expect((await check('auth', { OIDC_ISSUER_URL: named })).status).toBe('ok')
  })

  it('no identity provider', async () => {
    expect(codeOf(await check('auth', { OIDC_ISSUER_URL: 'http://127.0.0.1:9' }))).toBe(
      'idp_unreachable',
    )
  })

  it('an address that is not reached', async () => {
    const failure = await check('egress', {}, ['--egress', 'http://127.0.0.1:9'])
    expect(codeOf(failure)).toBe('egress_blocked')
  })

  it('a clock that is wrong', async () => {
    landscape.state.skewSeconds = -3600
    const failure = await check('clock')
    expect(codeOf(failure)).toBe('clock_skewed')
    expect(failure.error).toMatch(/^the clock of the identity provider is 3\d{3} s behind$/)
    landscape.state.skewSeconds = 0
    expect((await check('clock')).status).toBe('ok')
  })
})

describe('the rights that are checked', () => {
  it('are those for all that the default manifests have', () => {
    const dist = new URL('../../../dist/', import.meta.url)
    const text = ['01-network', '02-secrets', '03-bootstrap', '04-postgres', '05-collector']
      .concat(['06-internal-registry', '07-buildkit', '08-oauth', '09-web', '10-worker'])
      .concat(['11-setup', '12-crews'])
      .map((name) => readFileSync(new URL(`${name}.yaml`, dist), 'utf8'))
      .join('\n')
    const kinds = [...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind = '']) => kind)
    const plural = (kind: string): string => kind.toLowerCase().replace(/y$/, 'ie').concat('s')
    const known = new Set([...Object.values(INSTALLED).flat(), 'namespaces'])
    expect([...new Set(kinds.map(plural))].filter((each) => !known.has(each))).toEqual([])
  })
})
