import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const DISTRIBUTION = 'org.keycloak:keycloak-quarkus-dist'
const FEATURES = ['jwt-authorization-grant', 'client-auth-federated']
const ADMIN = { username: 'admin', password: 'admin' }
const START_MS = 400_000

/** What keeps Keycloak from being started here; undefined: nothing. */
export function whyNoKeycloak(version: string | undefined): string | undefined {
  if (version === undefined) return 'set KEYCLOAK to its version'
  const missing = ['java', 'mvn', 'unzip'].filter(
    (program) => spawnSync(program, ['-version']).error !== undefined,
  )
  return missing.length > 0 ? `install ${missing.join(' and ')}` : undefined
}

export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>

/** Starts Keycloak, whose distribution Maven gets, for development: without TLS, on a free port. */
export async function startKeycloak(version: string) {
  const directory = await mkdtemp(join(tmpdir(), 'keycloak-'))
  const run = promisify(execFile)
  const zip = `keycloak-quarkus-dist-${version}.zip`
  const copy = ['-q', 'dependency:copy', `-Dartifact=${DISTRIBUTION}:${version}:zip`]
  await run('mvn', [...copy, `-DoutputDirectory=${directory}`], { cwd: directory })
  await run('unzip', ['-q', zip], { cwd: directory })
  const [port, management] = [await freePort(), await freePort()]
  const child = spawn(
    join(directory, `keycloak-${version}/bin/kc.sh`),
    [
      'start-dev',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      `--http-management-port=${management}`,
      `--features=${FEATURES.join(',')}`,
    ],
    {
      // The script starts Java in its own process group, which is ended as a whole.
      detached: true,
      stdio: 'ignore',
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      },
    },
  )
  const url = `http://127.0.0.1:${port}`
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const isUp = async (): Promise<boolean> => {
      const answer = await fetch(`${url}/realms/master`).catch(() => undefined)
      return answer?.ok === true
    }
    await until(isUp, { timeoutMs: START_MS })
    return { url, ...createAdmin(url), stop }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

/** Sets up what a realm has, as its admin does, and asks for tokens as its clients do. */
function createAdmin(url: string) {
  async function post(path: string, form: Readonly<Record<string, string>>) {
    const body = new URLSearchParams(form)
    const response = await fetch(`${url}/realms/${path}/protocol/openid-connect/token`, {
      method: 'POST',
      body,
    })
    const answer = (await response.json()) as { access_token?: string }
    if (answer.access_token !== undefined) return answer.access_token
    throw new Error(`Keycloak answers ${response.status}: ${JSON.stringify(answer)}`)
  }
  return {
    /** Creates something under `/admin/realms`, and returns its id. */
    async create(path: string, body: object): Promise<string> {
      const form = { ...ADMIN, grant_type: 'password', client_id: 'admin-cli' }
      const token = await post('master', form)
      const response = await fetch(`${url}/admin/realms${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (response.ok) return response.headers.get('location')?.split('/').at(-1) ?? ''
      throw new Error(`Keycloak answers ${response.status}: ${await response.text()}`)
    },
    /** Asks for a token of a client itself. */
    tokenOf: (realm: string, client: { id: string; secret: string; scope?: string }) =>
      post(realm, {
        grant_type: 'client_credentials',
        client_id: client.id,
        client_secret: client.secret,
        ...(client.scope !== undefined && { scope: client.scope }),
      }),
  }
}
