import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { authority } from '../bed/certificates.ts'
import { words } from '../bed/words.ts'
import { apply, comesTrue, kubectl, upgrade } from './cluster.ts'
import { endOf, kickOff, makeCaller, task } from './platform.ts'
import type { Caller } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const WORKLOAD = 'nightly'
const ACCOUNTS = [WORKLOAD, 'stranger']
const AUTHORITY = 'walk-authority'

/** Lets everybody read the keys of the cluster, as a managed cluster does. */
const DISCOVERY = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: walk-issuer-discovery }
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:service-account-issuer-discovery
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:unauthenticated }]
`

const manifest = (kind: string, name: string, rest: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace: NAMESPACE }, ...rest })

const json = async (answer: Response): Promise<Record<string, unknown>> =>
  (await answer.json()) as Record<string, unknown>

/** Where the cluster says that it is as an issuer, and where its keys are. */
async function originsOfIssuer(): Promise<readonly string[]> {
  const discovery = await kubectl(words`get --raw /.well-known/openid-configuration`)
  const { jwks_uri: keys } = JSON.parse(discovery) as { jwks_uri: string }
  return [ISSUER, new URL(keys).origin]
}

/** A token of a service account, as a projected volume has it. */
const tokenOf = async (account: string, audience: string): Promise<string> =>
  (
    await kubectl(words`create token ${account} -n ${NAMESPACE} --audience ${audience}
      --duration 10m`)
  ).trim()

async function exchange(base: string, audience: string, subjectToken: string): Promise<Response> {
  return fetch(`${base}/oauth/token`, {
    method: 'POST',
    signal: AbortSignal.timeout(20_000),
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: subjectToken,
      audience,
    }),
  })
}

/** Makes the rule for a service account; returns the audience that its tokens have to have. */
async function makeRule({ url }: Caller): Promise<string> {
  const [base, automation = ''] = url.split('/platform/api/v1/crew/')
  const printed = await task(NAMESPACE, words`tokens:create Default ${`rules ${Date.now()}`}`)
  const answer = await fetch(`${base}/designer/v2/automations/${automation}/workload-rules`, {
    method: 'POST',
    signal: AbortSignal.timeout(20_000),
    headers: {
      Authorization: `Bearer ${printed.trim().split('\n').at(-1)}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({
      name: WORKLOAD,
      issuer: ISSUER,
      claims: { sub: `system:serviceaccount:${NAMESPACE}:${WORKLOAD}` },
      reusable: true,
    }),
  })
  const rule = await json(answer)
  assert.equal(answer.status, 201, JSON.stringify(rule))
  const { audience } = rule
  assert(typeof audience === 'string', JSON.stringify(rule))
  return audience
}

export const workloads: readonly Step[] = [
  {
    name: 'workload',
    sentence:
      'a service account of the cluster exchanges its token and starts a run; another account, ' +
      'audience or signature does not',
    async run() {
      await apply(DISCOVERY)
      const data = { 'ca.crt': readFileSync(authority, 'utf8') }
      await apply(manifest('ConfigMap', AUTHORITY, { data }))
      await upgrade(
        NAMESPACE,
        words`--set global.caBundle.configMap=${AUTHORITY}
          --set-string outgoing.oauthPrivateOrigins=${(await originsOfIssuer()).join('\\,')}`,
      )
      for (const account of ACCOUNTS) await apply(manifest('ServiceAccount', account))
      const caller = await makeCaller(NAMESPACE)
      const [base = ''] = caller.url.split('/platform/')
      const audience = await makeRule(caller)
      const own = await tokenOf(WORKLOAD, audience)
      let token = ''
      await comesTrue('the token is exchanged', async () => {
        const answer = await exchange(base, audience, own)
        const { access_token: given } = await json(answer)
        token = typeof given === 'string' ? given : ''
        return answer.status === 200
      })
      const id = await kickOff({ ...caller, token })
      assert.equal(await endOf({ ...caller, token }, id), 'completed')
      const hostile = {
        'another account': await tokenOf('stranger', audience),
        'another audience': await tokenOf(WORKLOAD, 'https://elsewhere.example.com'),
        'another signature': `${own.slice(0, -8)}${own.endsWith('AAAAAAAA') ? 'B' : 'A'}AAAAAAA`,
      }
      for (const [what, each] of Object.entries(hostile)) {
        const { status } = await exchange(base, audience, each)
        assert([400, 401].includes(status), `${what}: ${status}`)
      }
      await kubectl(words`delete serviceaccount ${ACCOUNTS} -n ${NAMESPACE}`)
      await upgrade(NAMESPACE)
      await kubectl(words`delete configmap ${AUTHORITY} -n ${NAMESPACE}`)
      await kubectl(words`delete clusterrolebinding walk-issuer-discovery`)
      return `one run; refused: ${Object.keys(hostile).join(', ')}`
    },
  },
]
