import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  allowInsecureRequests,
  ClientSecretBasic,
  clientCredentialsGrant,
  discovery,
  modifyAssertion,
  PrivateKeyJwt,
} from 'openid-client'
import type { ClientAuth } from 'openid-client'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import type { CryptoKey } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start as startCrew } from '../../../../../services/crew/start.ts'
import { startModel } from '../../../../../services/local/model.ts'
import type { AutomationOauth } from '../../../../../services/platform/automations/automation-oauth.ts'
import { markOnline } from '../../../../../services/platform/automations/automations.ts'
import { crewToken } from '../../../../../services/shared/crew-token.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start as startWeb } from '../../../../../services/web/start.ts'
import { createSnippets } from '../../../../../services/web/console/automations/client-snippets.ts'
import type { Snippet } from '../../../../../services/web/console/automations/client-snippets.ts'
import { start as startWorker } from '../../../../../services/worker/start.ts'
import { definition } from '../../../../support/crew.ts'
import { startIdentityProvider } from '../../../../support/identity-provider.ts'
import type { IdentityProvider, ShapedToken } from '../../../../support/identity-provider.ts'
import { until } from '../../../../support/until.ts'
import { bind, configure, settingsFor } from '../../support/platform-with-oauth.ts'
import { BASE_URL, openPlatform, environment, readObject, SECRET } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const CLIENT = 'crm'
const KEY_CLIENT = 'erp'
const SECRET_OF_CLIENT = 'a-client-secret-of-the-crm-0123456789'
const log = createLog({ name: 'test', level: 'silent' })

let platform: Platform
let web: Service
let idp: IdentityProvider
let clientKey: CryptoKey
let shape: (token: ShapedToken) => void = () => {}
const services: Service[] = []

const own = async (starting: Promise<Service>): Promise<Service> => {
  const service = await starting
  services.push(service)
  return service
}

beforeAll(async () => {
  platform = await openPlatform()
  const pair = await generateKeyPair('RS256', { extractable: true })
  clientKey = pair.privateKey
  const publicJwk = { ...(await exportJWK(pair.publicKey)), kid: 'erp-1', alg: 'RS256', use: 'sig' }
  const common = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }
  idp = await startIdentityProvider({
    clients: [
      {
        ...common,
        client_id: CLIENT,
        client_secret: SECRET_OF_CLIENT,
        token_endpoint_auth_method: 'client_secret_basic',
      },
      {
        ...common,
        client_id: KEY_CLIENT,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicJwk] },
      },
    ],
    scopes: ['platform_automations'],
    resource: { audience: BASE_URL, scope: 'platform_automations' },
    shapeToken: (token) => shape(token),
  })
  const env = { ...environment(platform.url), AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer }
  web = await own(startWeb(env, { log, lingerMs: 0 }))
})

afterAll(async () => {
  for (const service of services.reverse()) await service.stop()
  await idp.stop()
  await platform.close()
})

/** Gets a token as any client would, by discovery and the client credentials grant. */
async function requestToken(clientId: string, auth: ClientAuth): Promise<string> {
  const execute = [allowInsecureRequests]
  const config = await discovery(new URL(idp.issuer), clientId, {}, auth, { execute })
  const { access_token: token } = await clientCredentialsGrant(config, {
    scope: 'platform_automations',
  })
  return token
}

const withSecret = () => requestToken(CLIENT, ClientSecretBasic(SECRET_OF_CLIENT))
const withKey = () =>
  requestToken(
    KEY_CLIENT,
    // The claims and the header of SPEC 5.2.4.
    PrivateKeyJwt(
      { key: clientKey, kid: 'erp-1' },
      {
        [modifyAssertion](header, payload) {
          header['typ'] = 'JWT'
          Object.assign(payload, {
            aud: `${idp.issuer}/token`,
            exp: Number(payload['iat']) + 300,
            jti: randomUUID(),
          })
        },
      },
    ),
  )

const api = (path: string) =>
  `${web.url}/platform/api/v1/crew/${platform.acme.research.automationId}/${path}`
const kickoff = (token: string) =>
  fetch(api('kickoff'), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: { topic: 'whales' } }),
  })

const use = async (changes: Partial<AutomationOauth> = {}, client = CLIENT) => {
  await configure(platform, platform.acme, settingsFor(idp.issuer, changes))
  await bind(platform, platform.acme, client)
}

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/**
 * Cognito names no audience; oidc-provider insists on one, so it is given one that JSON leaves out.
 */
const NOTHING = { toJSON: () => undefined }
const GUID = '7f1a2b3c-0000-4000-8000-000000000000'

interface Vendor {
  readonly name: string
  readonly shape: (token: ShapedToken) => void
  readonly settings?: Partial<AutomationOauth>
}

const vendors: readonly Vendor[] = [
  { name: 'RFC 9068 (at+jwt, client_id)', shape: () => {} },
  {
    name: 'Okta (cid, scp array)',
    shape({ header, payload }) {
      header['typ'] = undefined
      Object.assign(payload, {
        cid: payload['client_id'],
        scp: ['platform_automations'],
        ver: 1,
        client_id: undefined,
        scope: undefined,
      })
    },
  },
  {
    name: 'Auth0 (azp, gty)',
    shape({ header, payload }) {
      header['typ'] = 'JWT'
      Object.assign(payload, {
        azp: payload['client_id'],
        gty: 'client-credentials',
        sub: `${String(payload['client_id'])}@clients`,
        client_id: undefined,
      })
    },
  },
  {
    name: 'Keycloak (typ Bearer, azp, two audiences)',
    shape({ header, payload }) {
      header['typ'] = 'JWT'
      Object.assign(payload, {
        typ: 'Bearer',
        azp: payload['client_id'],
        aud: [BASE_URL, 'account'],
        scope: 'email platform_automations profile',
      })
    },
  },
  {
    name: 'Entra ID v2 (azp, roles, an audience that is a GUID)',
    settings: { audiences: [GUID], scopeClaim: 'roles' },
    shape({ header, payload }) {
      header['typ'] = 'JWT'
      Object.assign(payload, {
        azp: payload['client_id'],
        aud: GUID,
        roles: ['platform_automations'],
        ver: '2.0',
        idtyp: 'app',
        client_id: undefined,
        scope: undefined,
      })
    },
  },
  {
    name: 'Cognito (token_use, no audience, a scope with its resource server)',
    settings: { absentAudienceAllowed: true, scope: 'automations/platform_automations' },
    shape({ header, payload }) {
      header['typ'] = undefined
      Object.assign(payload, {
        token_use: 'access',
        scope: 'automations/platform_automations',
        aud: NOTHING,
      })
    },
  },
]

describe('access tokens of a real identity provider (SPEC 4.5, 5.2, 5.3)', () => {
  it.each(vendors)('$name: accepted, and refused for another client', async (vendor) => {
    shape = vendor.shape
    await use(vendor.settings)
    const token = await withSecret()
    expect((await kickoff(token)).status).toBe(202)
    await use(vendor.settings, 'another')
    const refused = await kickoff(token)
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ details: { reason: 'client_mismatch' } })
    if (vendor.settings === undefined) return
    // What this vendor needs is not accepted where it was not asked for.
    await use()
    expect((await kickoff(token)).status).not.toBe(202)
  })

  it('a token without the scope is told which one is missing', async () => {
    shape = ({ payload }) => void (payload['scope'] = 'openid')
    await use()
    const response = await kickoff(await withSecret())
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="platform_automations"')
  })

  it('client secret and private key, from the token request to the finished run', async () => {
    shape = () => {}
    const { research } = platform.acme
    const model = await own(startModel({ port: 0, log, latencyMs: 1 }))
    const crew = await own(
      startCrew(
        {
          HOST: '127.0.0.1',
          PORT: '0',
          CREW_DEFINITION: JSON.stringify(definition),
          CREW_TOKEN: crewToken(SECRET, research.automationId),
          OPENAI_BASE_URL: `${model.url}/v1`,
        },
        { log },
      ),
    )
    await markOnline(platform.sql, research.id, crew.url)
    const worker = {
      DATABASE_URL: platform.url,
      HOST: '127.0.0.1',
      PORT: '0',
      PLATFORM_VERSION: '1',
      SECRET_KEY_BASE: SECRET,
    }
    await own(startWorker({ ...worker, WORKER_DRAIN_SECONDS: '0' }, { log }))
    for (const [client, getToken] of [
      [CLIENT, withSecret],
      [KEY_CLIENT, withKey],
    ] as const) {
      await use({}, client)
      const token = await getToken()
      expect(claimsOf(token)).toMatchObject({ client_id: client, aud: BASE_URL })
      const started = await readObject(await kickoff(token))
      const headers = { authorization: `Bearer ${token}` }
      const url = String(started['status_url']).replace(BASE_URL, web.url)
      await until(
        async () => (await readObject(await fetch(url, { headers })))['status'] === 'completed',
      )
      expect(await readObject(await fetch(url, { headers }))).toMatchObject({
        state: 'SUCCESS',
        output: expect.stringContaining('whales'),
      })
    }
  })

  it('the token endpoint came from discovery, and the keys were fetched once', async () => {
    shape = () => {}
    const before = idp.count('/jwks')
    const fresh = await own(
      startWeb(
        { ...environment(platform.url), AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer },
        { log, lingerMs: 0 },
      ),
    )
    await use()
    const url = api('inputs').replace(web.url, fresh.url)
    const tokens = await Promise.all([withSecret(), withSecret(), withSecret()])
    for (const token of [...tokens, ...tokens]) {
      expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
    }
    expect(idp.count('/jwks')).toBe(before + 1)
    expect(idp.count('/token')).toBeGreaterThan(3)
  })
})

const run = promisify(execFile)
const has = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

describe('the programs on the page of an automation (SPEC 4.4, 4.5)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'snippets-'))
  const hasJwt = has('python3', '-c', 'import jwt')
  if (!hasJwt) console.warn('Python with a private key skipped: pip install "pyjwt[crypto]"')

  afterAll(() => rmSync(directory, { recursive: true }))

  async function runSnippet({ title, text }: Snippet): Promise<string> {
    const env = {
      ...process.env,
      TOKEN: await platform.issueToken(platform.acme),
      CLIENT_SECRET: SECRET_OF_CLIENT,
      PRIVATE_KEY_FILE: join(directory, 'key.pem'),
      KEY_ID: 'erp-1',
    }
    const file = join(directory, title.endsWith('Node') ? 'client.mjs' : 'client')
    writeFileSync(file, text)
    const program = title.endsWith('Node')
      ? process.execPath
      : title.endsWith('Python')
        ? 'python3'
        : 'sh'
    return (await run(program, [file], { env, timeout: 50_000 })).stdout
  }

  const needs: Readonly<Record<string, boolean>> = {
    Node: true,
    Python: has('python3', '--version'),
    curl: has('curl', '--version'),
    openssl: has('curl', '--version') && has('openssl', 'version'),
  }

  it('work as they are', async () => {
    shape = () => {}
    writeFileSync(join(directory, 'key.pem'), await exportPKCS8(clientKey))
    for (const clientId of [CLIENT, KEY_CLIENT]) {
      await use({}, clientId)
      const oauth = { clientId, scope: 'platform_automations', tokenUrl: `${idp.issuer}/token` }
      const snippets = createSnippets()({
        apiUrl: api('x').slice(0, -2),
        inputs: { topic: '…' },
        oauth,
      })
      const mode = clientId === CLIENT ? /^Static|secret/ : /private key/
      for (const snippet of snippets.filter(({ title }) => mode.test(title))) {
        const language = /\w+$/.exec(snippet.title)?.[0] ?? ''
        if (!needs[language] || (snippet.needs.includes('pyjwt') && !hasJwt)) continue
        expect(await runSnippet(snippet), snippet.title).toContain('"kickoff_id"')
      }
    }
  }, 180_000)
})
