import assert from 'node:assert/strict'
import { attempt } from '../bed/command.ts'
import { places, repository } from '../bed/places.ts'
import { words } from '../bed/words.ts'
import { addressOf, comesTrue, kubectl, read, rolledOut, secretValue } from './cluster.ts'
import { debugToken, isWell, kickOff, makeCaller, query, readReport } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

/** A fault that `doctor --fix` can mend, and how it is brought about. */
export interface Fault {
  readonly code: string
  readonly bringAbout: () => Promise<void>
  /** Takes back what else was changed to bring it about. */
  readonly clear?: () => Promise<void>
  /** It changes more than what the fix sets back. */
  readonly isChange?: boolean
}

const deployment = (name: string, namespace = NAMESPACE): readonly string[] =>
  words`deployment/${name} -n ${namespace}`

const scaleToZero = async (name: string, namespace?: string): Promise<void> =>
  void (await kubectl(words`scale ${deployment(name, namespace)} --replicas=0`))

let formerPassword = 'the-other-password-of-the-walk'

/** Gives the user of the platform another password, and the Secret that, but no pod. */
async function changePassword(): Promise<void> {
  const password = formerPassword
  formerPassword = await secretValue(NAMESPACE, 'platform-secrets', 'DB_PASSWORD')
  const patch = JSON.stringify({ stringData: { DB_PASSWORD: password } })
  await kubectl(words`patch secret platform-secrets -n ${NAMESPACE} --type=merge -p ${patch}`)
  await ask(`alter role platform password '${password}'`)
  await ask(`
    select pg_terminate_backend(pid) from pg_stat_activity
    where usename = 'platform' and pid <> pg_backend_pid()`)
}

/** Leaves a run without a worker, for longer than anyone should wait. */
async function stallQueue(): Promise<void> {
  await scaleToZero('platform-worker')
  await kickOff(await makeCaller(NAMESPACE))
  await ask(`
    update executions set available_at = now() - interval '6 minutes' where status = 'queued'`)
}

const ask = (statement: string): Promise<string> => query(NAMESPACE, 'platform', statement)

const FAULTS: readonly Fault[] = [
  { code: 'deployments_unready', bringAbout: () => scaleToZero('platform-oauth') },
  {
    code: 'crew_pods_unready',
    bringAbout: () => scaleToZero('crew-runner', crewsOf(NAMESPACE)),
  },
  {
    code: 'tool_repository_missing',
    bringAbout: async () =>
      void (await ask('delete from tool_repositories where organization_id is null')),
  },
  {
    code: 'runner_install_incomplete',
    async bringAbout() {
      await ask(`
        update deployments set status = 'Crew has Failed' where slug = 'runner'`)
    },
  },
  {
    code: 'agent_install_incomplete',
    async bringAbout() {
      await ask(`
        update deployments set status = 'Crew has Failed' where slug = 'assistant'`)
    },
  },
  { code: 'queue_stalled', bringAbout: stallQueue },
  {
    code: 'rollout_stuck',
    bringAbout: async () =>
      void (await kubectl(
        words`set image ${deployment('platform-oauth')} oauth=localhost/none:missing`,
      )),
  },
  {
    code: 'internal_org_missing',
    bringAbout: async () =>
      void (await ask(`
        update organizations set internal = false, name = 'Aside' where internal`)),
    // The one that the fix has made is empty.
    clear: async () =>
      void (await ask(`
        delete from organizations where internal;
        update organizations set internal = true, name = 'Platform' where name = 'Aside'`)),
  },
  // Twice: the second time sets the first password again.
  { code: 'db_auth_failed', bringAbout: changePassword, isChange: true },
  { code: 'db_auth_failed', bringAbout: changePassword },
]

/** The report of a doctor that fixes one code with the kubeconfig of the node. */
async function fix(code: string, ...options: readonly string[]) {
  const url = await addressOf(NAMESPACE, 'platform-web')
  const line = words`npm run --silent doctor -- --fix --url ${url} --only ${code} --yes --json`
  const {
    stdout,
    stderr,
    code: exitCode,
  } = await attempt([...line, ...options], {
    cwd: repository,
    timeoutMs: 11 * 60_000,
    env: { KUBECONFIG: places.kubeconfig, PLATFORM_DEBUG_TOKEN: await debugToken(NAMESPACE) },
  })
  return { exitCode, said: `${stdout}${stderr}` }
}

const has = async (code: string): Promise<boolean> =>
  JSON.stringify(await readReport(NAMESPACE)).includes(`"${code}"`)

interface Anything {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec?: unknown
  readonly data?: unknown
  readonly rules?: unknown
}

/** What of an object is somebody's wish; when a Deployment was last restarted is not. */
const wishOf = ({ kind, metadata, spec, data, rules }: Anything): string => {
  const restarted = /,?"(kubectl\.kubernetes\.io\/restartedAt)":"[^"]*"/g
  const wish = JSON.stringify([spec, data, rules]).replaceAll(restarted, '').replaceAll('{,', '{')
  const rest = wish.replaceAll('"annotations":{},', '')
  return `${metadata.namespace} ${kind} ${metadata.name} ${rest}`
}

/** All that the installation consists of: its objects but those of Jobs, and its settled rows. */
async function snapshot(): Promise<readonly string[]> {
  const kinds =
    'deployments,statefulsets,services,secrets,configmaps,serviceaccounts,roles,rolebindings,' +
    'networkpolicies,cronjobs,persistentvolumeclaims,poddisruptionbudgets'
  const objects: string[] = []
  for (const namespace of [NAMESPACE, crewsOf(NAMESPACE)]) {
    const { items } = await read<{ items: readonly Anything[] }>(words`${kinds} -n ${namespace}`)
    objects.push(...items.map(wishOf))
  }
  const rows = await ask(`
    select 'deployments', id, name, slug, status, url, project_version_id::text from deployments
    union all select 'organizations', id, name, '', '', '', '' from organizations
    union all select 'tool_repositories', 0, name, '', '', '', '' from tool_repositories
    order by 1, 2`)
  return [...objects, ...rows.split('\n')].toSorted()
}

/** Brings faults about, one after the other, and has each fixed and all else as it was. */
export async function fixEach(faults: readonly Fault[]): Promise<string> {
  await isWell(NAMESPACE)
  const before = await snapshot()
  for (const { code, bringAbout, clear, isChange = false } of faults) {
    await bringAbout()
    await comesTrue(`the report has ${code}`, () => has(code))
    const { exitCode, said } = await fix(code)
    assert.match(said, /"verified"/, said)
    assert.equal(exitCode, 0, said)
    await clear?.()
    await isWell(NAMESPACE)
    if (!isChange) assert.deepEqual(await snapshot(), before, code)
  }
  return [...new Set(faults.map(({ code }) => code))].join(', ')
}

export const fixes: readonly Step[] = [
  {
    name: 'fixes',
    sentence: 'doctor --fix ends verified for each fault, and all else is as it was before',
    async run() {
      // Makes the automation whose run will wait.
      await makeCaller(NAMESPACE)
      return fixEach(FAULTS)
    },
  },
  {
    name: 'fix-in-vain',
    sentence: 'what doctor --fix changed and did not help is taken back, to the last field',
    async run() {
      const oauth = deployment('platform-oauth')
      const [container] = await read<{
        spec: { template: { spec: { containers: { name: string; image: string }[] } } }
      }>(words`deployment platform-oauth -n ${NAMESPACE}`).then(
        (it) => it.spec.template.spec.containers,
      )
      assert(container)
      await scaleToZero('platform-oauth')
      await kubectl(words`set image ${oauth} ${container.name}=localhost/none:missing`)
      await comesTrue('the report has deployments_unready', () => has('deployments_unready'))
      const before = await snapshot()
      const { exitCode, said } = await fix('deployments_unready', '--wait', '20')
      assert.match(said, /"failed"/, said)
      assert.equal(exitCode, 2, said)
      assert.deepEqual(await snapshot(), before)
      await kubectl(words`set image ${oauth} ${container.name}=${container.image}`)
      await kubectl(words`scale ${oauth} --replicas=1`)
      await rolledOut(NAMESPACE)
      await isWell(NAMESPACE)
      return 'failed, and taken back'
    },
  },
]
