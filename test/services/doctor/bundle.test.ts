import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBundleRedaction } from '../../../services/doctor/bundle/redaction.ts'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { startKubernetes } from '../../support/kubernetes.ts'
import type { KubernetesStub } from '../../support/kubernetes.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { localhostCertificate } from '../../support/tls.ts'
import { closed, json } from '../web/diagnostics/support/faults.ts'
import { kubeconfigOf } from './support/landscape.ts'
import { surroundings } from './support/surroundings.ts'

/** Is a part of each secret, and must be nowhere in a bundle. */
const CANARY = 'kanari7f3e'
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const PEM = `-----BEGIN PRIVATE KEY-----\n${CANARY}AAAA\n-----END PRIVATE KEY-----`
/** Secrets that only their looks tell. */
const SHAPES = [
  `postgres://platform:${CANARY}pw@db.internal:5432/platform`,
  `Authorization: Bearer ${CANARY}.abcdefgh`,
  `eyJhbGciOiJIUzI1NiJ9.${CANARY}.c2lnbmF0dXJl`,
  `sk-${CANARY}0123456789`,
  `https://idp.test/callback?code=${CANARY}`,
  `{"api_key":"${CANARY}","password": "${CANARY}"}`,
  `run --db-password ${CANARY} --token=${CANARY}`,
  `mail from ${CANARY}.miller@customer.example.com`,
  `AKIA${CANARY.toUpperCase().padEnd(16, '0')}`,
  JSON.stringify({ msg: PEM }),
  PEM,
].join('\n')
/** Secrets that no look tells: known from where they are kept. */
const PLAIN = `${CANARY}-plain-password`
const DEBUG_TOKEN = `${CANARY}-debug-token-of-more-than-32-characters`
const report = {
  status: 'fail',
  duration_ms: 5,
  environment: { platform: true, auth_provider: 'local', version: '1' },
  components: { database: { status: 'fail', error: SHAPES, details: { code: 'db_unreachable' } } },
}

const directory = mkdtempSync(join(tmpdir(), 'bundle-'))
let cluster: KubernetesStub
let database: TestDatabase
let kubeconfig: string

const object = (name: string, rest: object = {}) => ({ metadata: { name }, ...rest })
const list = (...items: object[]) => ({ metadata: {}, items })

const pod = {
  metadata: {
    name: 'platform-web-1',
    labels: { 'app.kubernetes.io/component': 'web' },
    annotations: {
      'prometheus.io/port': '9090',
      'kubectl.kubernetes.io/last-applied-configuration': `{"x":"${CANARY}"}`,
    },
    managedFields: [{ manager: CANARY }],
  },
  spec: {
    initContainers: [{ name: 'migrate' }],
    containers: [
      {
        name: 'web',
        image: 'registry.example.com/platform:1.13.0',
        command: ['node', 'x.js', '--api-token', CANARY],
        ports: [{ name: 'http', containerPort: 3000 }],
        env: [
          { name: 'PLATFORM_VERSION', value: '1.13.0' },
          { name: 'OPENAI_API_KEY', value: `${CANARY}-of-openai` },
          { name: 'DATABASE_URL', value: SHAPES.split('\n', 1)[0] },
          { name: 'PROXY', value: `http://me:${CANARY}@proxy:3128` },
          {
            name: 'DB_PASSWORD',
            valueFrom: { secretKeyRef: { name: 'keys', key: 'DB_PASSWORD' } },
          },
        ],
      },
    ],
  },
}

beforeAll(async () => {
  database = await createDatabase('platform')
  cluster = await startKubernetes()
  const at = (path: string, value: object) =>
    cluster.objects.set(path, value as Parameters<KubernetesStub['objects']['set']>[1])
  const core = '/api/v1/namespaces/platform'
  at('/version', { metadata: {}, gitVersion: 'v1.31.0' })
  at(
    `${core}/secrets`,
    list(
      object('platform-secrets', {
        data: {
          DB_PASSWORD: base64(PLAIN),
          PLATFORM_DEBUG_TOKEN: base64(DEBUG_TOKEN),
          '.dockerconfigjson': base64(`{"auths":{"r":{"password":"${CANARY}-inner"}}}`),
          user: base64('platform'),
        },
      }),
      object('tls', { data: { 'tls.crt': base64(localhostCertificate), 'tls.key': base64(PEM) } }),
    ),
  )
  at(`${core}/configmaps`, list(object('settings', { data: { 'a.txt': `${CANARY}` } })))
  at(`${core}/pods`, list(pod))
  at(`${core}/events`, list(object('e', { message: `failed: ${SHAPES} ${PLAIN}` })))
  at('/apis/apps/v1/namespaces/platform/deployments', list(object('platform-web', pod)))
  cluster.logs.set(
    `${core}/pods/platform-web-1/log`,
    `2026-11-22T12:00:00Z started\n${SHAPES}\nlogin with ${PLAIN}, ${base64(PLAIN)}, ` +
      `${encodeURIComponent(PLAIN)}, ${CANARY}-inner\n`,
  )
  const proxy = `${core}/pods/platform-web-1`
  at(`${proxy}:3000/proxy/health`, { metadata: {}, status: 'fail' })
  cluster.logs.set(`${proxy}:9090/proxy/metrics`, `up 1\ninfo{mail="${CANARY}@x.example"} 1\n`)
  cluster.intercept = ({ path }, response) => {
    if (path !== `${proxy}:3000/proxy/health/debug`) return false
    response.writeHead(503).end(JSON.stringify(report))
    return true
  }
  kubeconfig = join(directory, 'kubeconfig')
  writeFileSync(kubeconfig, stringify(kubeconfigOf(cluster.address.url)))
})

afterAll(async () => {
  await cluster.stop()
  await database.drop()
  rmSync(directory, { recursive: true })
})

/** The files of a tar archive by their paths, without the folder that they are in. */
function unpack(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>()
  const tar = gunzipSync(archive)
  for (let at = 0; at < tar.length;) {
    const name = tar.toString('utf8', at, at + 100).replace(/\0.*$/s, '')
    const size = Number.parseInt(tar.toString('utf8', at + 124, at + 136), 8)
    if (name === '') break
    files.set(name.replace(/^[^/]+\//, ''), tar.toString('utf8', at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

async function bundle(args: readonly string[], env: Record<string, string> = {}) {
  const out = join(directory, 'bundle.tar.gz')
  const all = ['bundle', '--out', out, ...args]
  const { exitCode, stderr } = await runDoctor(all, { HOME: directory, ...env }, surroundings())
  return { exitCode, stderr, files: unpack(readFileSync(out)) }
}

const indexOf = (files: Map<string, string>) =>
  JSON.parse(files.get('index.json') ?? '') as { unread: { what: string; why: string }[] }

describe('doctor bundle', () => {
  it('collects a cluster, its databases and an address, without any secret', async () => {
    const address = await json(200, report)
    const env = { DATABASE_URL: database.url, PLATFORM_DEBUG_TOKEN: DEBUG_TOKEN }
    const args = ['--kubeconfig', kubeconfig, '--url', address.url]
    const { exitCode, stderr, files } = await bundle(args, env)
    await address.stop()
    expect(exitCode).toBe(0)
    expect([...files.keys()]).toEqual(
      expect.arrayContaining([
        'index.json',
        'cluster/version.json',
        'cluster/platform/secrets.json',
        'cluster/platform/pods.json',
        'cluster/platform/deployments.json',
        'cluster/platform/events.json',
        'logs/platform/platform-web-1/web.log',
        'logs/platform/platform-web-1/migrate.log',
        'pods/platform-web-1/health.json',
        'pods/platform-web-1/metrics.txt',
        'pods/platform-web-1/report.json',
        'address/report.json',
        'databases/main/migrations.json',
        'databases/main/tables.json',
      ]),
    )
    const leaks = [...files].filter(([, text]) => new RegExp(CANARY, 'i').test(text))
    expect(leaks.map(([path]) => path)).toEqual([])
    expect(leaks).toEqual([])
    expect(stderr).not.toContain(CANARY)
    expect(new Set([...files.values()].filter((text) => text.includes(base64(PLAIN))))).toEqual(
      new Set(),
    )
  })

  it('keeps what helps', async () => {
    const { files } = await bundle(['--kubeconfig', kubeconfig], { DATABASE_URL: database.url })
    const pods = files.get('cluster/platform/pods.json')
    expect(pods).toContain('registry.example.com/platform:1.13.0')
    expect(pods).toMatch(/"name": "PLATFORM_VERSION",\s+"value": "1.13.0"/)
    expect(pods).toMatch(/"secretKeyRef": {\s+"name": "keys",\s+"key": "DB_PASSWORD"/)
    const secrets = files.get('cluster/platform/secrets.json')
    expect(secrets).toMatch(/"name": "DB_PASSWORD",\s+"bytes": 25/)
    expect(secrets).toMatch(/"valid_to": "\w+ .* GMT"/)
    expect(files.get('logs/platform/platform-web-1/web.log')).toMatch(
      /^2026-11-22T12:00:00Z started/,
    )
    expect(files.get('pods/platform-web-1/report.json')).toContain('db_unreachable')
    expect(files.get('databases/main/migrations.json')).toContain('0047_baseline')
  })

  it('works while everything is down, and says what could not be read', async () => {
    const gone = await closed()
    const path = join(directory, 'gone')
    writeFileSync(path, stringify(kubeconfigOf(gone.url)))
    const env = { DATABASE_URL: 'postgres://me@127.0.0.1:9/x' }
    const { exitCode, stderr, files } = await bundle(['--kubeconfig', path, '--url', gone.url], env)
    expect(exitCode).toBe(3)
    expect(stderr).toMatch(/not read: the cluster: .*ECONNREFUSED/)
    const what = indexOf(files).unread.map((each) => each.what)
    expect(what).toEqual(
      expect.arrayContaining([
        'the cluster',
        `/health of ${gone.url}`,
        'server of the main database',
      ]),
    )
  })

  it('reads the data directory of npm start', async () => {
    const data = join(directory, 'data')
    mkdirSync(data)
    const settings = { PLATFORM_URL: 'http://127.0.0.1:4300', TOKEN: PLAIN, COOKIE: `${CANARY}-c` }
    const lines = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'\n`)
    writeFileSync(join(data, 'platform.env'), lines.join(''))
    writeFileSync(join(data, 'platform.log'), `started\n${SHAPES}\n${PLAIN} ${CANARY}-c\n`)
    const { exitCode, files } = await bundle(['--no-cluster', '--data', data])
    expect(exitCode).toBe(0)
    expect(JSON.parse(files.get('machine/settings.json') ?? '')).toEqual({
      PLATFORM_URL: 'http://127.0.0.1:4300',
      TOKEN: '[redacted]',
      COOKIE: '[redacted]',
    })
    expect(files.get('machine/platform.log')).toMatch(/^started/)
    expect([...files.values()].join('')).not.toMatch(new RegExp(CANARY, 'i'))
  })

  it.each([
    [['bundle', '--url', 'platform'], /"platform" is no address/],
    [['bundle', '--output', 'x'], /--output/],
    [['bundle', '--no-cluster', '--out', '/nowhere/x.tar.gz'], /cannot be written/],
  ])('explains its use for %j', async (args, problem) => {
    const { exitCode, stderr } = await runDoctor(args, {}, surroundings())
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(problem)
    expect(stderr).toContain('doctor -- bundle [options]')
  })
})

describe('the redaction of a bundle', () => {
  it.each([
    ['a key whose beginning was cut off', `${'QUJD'.repeat(16)}\n${'REVG'.repeat(16)}`],
    ['a key whose end was cut off', `-----BEGIN RSA PRIVATE KEY-----\n${'QUJD'.repeat(4)}`],
  ])('finds %s', (_, text) => {
    expect(createBundleRedaction().text(text)).not.toMatch(/QUJD|REVG/)
  })

  it('leaves the names of references, and words of settings', () => {
    const redaction = createBundleRedaction()
    const given = {
      secretName: 'tls',
      imagePullSecrets: [{ name: 'pull' }],
      automountServiceAccountToken: false,
      secretKeyRef: { name: 'keys', key: 'SECRET_KEY_BASE' },
    }
    expect(redaction.object(given)).toEqual(given)
  })
})
