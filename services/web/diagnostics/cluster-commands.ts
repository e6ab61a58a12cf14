import { fixSentence } from '../../shared/fixable-codes.ts'
import type { FixableCode } from '../../shared/fixable-codes.ts'
import type { WebConfig } from '../env.ts'
import type { Condition, DeploymentRow } from './kubernetes/deployment-row.ts'

/**
 * Commands for a terminal. In each, `{release}`, `{fullname}` and `{namespace}` stand for those of
 * the installation.
 */

/** Runs a task in a pod of web. */
export const runInWeb = (task: string): string =>
  'Run `kubectl -n {namespace} exec deploy/{fullname}-web -- node build/tasks/main.js ' +
  `${task}\` (\`npm run task -- ${task}\` from a clone)`

/** Makes an image to try BuildKit, the registry and the nodes. */
export const VERIFY_BUILDS =
  '`kubectl -n {namespace} exec deploy/{fullname}-worker -- node build/worker/main.js ' +
  'verify-builds` tries it anew.'

/** Installs the crews by the chart's Job, which has the right to deploy them; web has not. */
export const INSTALL_CREWS =
  'Run `helm upgrade {release} dist/chart -n {namespace} --reuse-values`, which installs the ' +
  'crews again; with plain manifests, `kubectl -n {namespace} delete job -l ' +
  'app.kubernetes.io/component=crews` and then `kubectl apply -f dist/12-crews.yaml`'

/** Installs a crew that is missing or not online. */
export const installCrew = (task: string): string =>
  `${INSTALL_CREWS}. \`kubectl -n {namespace} logs -l app.kubernetes.io/component=crews ` +
  '--all-containers` says why a crew does not come online. Outside a cluster, run ' +
  `\`npm run task -- ${task}\`.`

/** Makes the Deployments of the chart that are missing. */
export const INSTALL_CHART =
  'Run `helm upgrade {release} dist/chart -n {namespace} --reuse-values`, which makes what is ' +
  'missing; with plain manifests, `kubectl apply -f dist`.'

/** Corrects an image that cannot be pulled. */
const IMAGES_REMEDY =
  'With ImagePullBackOff or ErrImagePull, push the image to where the nodes pull from, or ' +
  'correct image.tag and global.image.registry.'

/** Deployments that are not as they should be. */
interface Troubled {
  readonly namespace: string
  readonly rows: readonly Pick<DeploymentRow, 'name' | 'condition'>[]
  /** The sentences that bring back those that do not exist. */
  readonly install: string
  /** Whose fix is named where it can do something. */
  readonly code: FixableCode
}

/** The remedies of a Deployment; those of which many may be missing stand once. */
const REMEDIES: Readonly<Record<Condition, (flag: string, name: string) => string>> = {
  ready: () => '',
  progressing: () => '',
  missing: () => '',
  scaled_to_zero: (flag, name) =>
    `${name} is scaled to zero: run \`kubectl ${flag} scale deployment ${name} --replicas=1\`.`,
  unready: (flag, name) =>
    `Look at \`kubectl ${flag} describe deployment ${name}\` and ` +
    `\`kubectl ${flag} logs deployment/${name} --all-containers\`.`,
  surging: (flag, name) =>
    `${name} is in a rollout: \`kubectl ${flag} rollout status deployment/${name}\` waits for ` +
    'its end. Then run the check again.',
  stuck: (flag, name) =>
    `\`kubectl ${flag} describe deployment ${name}\` and the events of its pods say why. ` +
    '`helm rollback {release} -n {namespace}` returns to the version before.',
}

/** Says what to do about Deployments, about each by its condition. */
export function remedyForDeployments({ namespace, rows, install, code }: Troubled): string {
  const has = (...conditions: readonly Condition[]): boolean =>
    rows.some(({ condition }) => conditions.includes(condition))
  const each = rows.map(({ name, condition }) => REMEDIES[condition](`-n ${namespace}`, name))
  const texts = [
    has('missing') ? install : '',
    ...each,
    has('unready', 'stuck') ? IMAGES_REMEDY : '',
    has('scaled_to_zero') ? fixSentence(code).trim() : '',
  ]
  return texts.filter(Boolean).join(' ')
}

/** Grants the right to read the namespaces of organizations, or does without it. */
export const ISOLATION_RIGHTS =
  'The feature flag k8s_namespace_isolation is on, and web may not read the namespaces of ' +
  'organizations. Set crews.namespaceIsolation to true and upgrade, which grants the right, or ' +
  'switch the flag off under Feature flags.'

const DEFAULT_NAME = 'platform'

type Installation = Pick<WebConfig, 'RELEASE_NAME' | 'RELEASE_FULLNAME' | 'POD_NAMESPACE'>

/** Creates a function that fills the names of the installation into all remedies of a value. */
export function createNaming({
  RELEASE_NAME: release = DEFAULT_NAME,
  RELEASE_FULLNAME: fullName = release,
  POD_NAMESPACE: namespace = DEFAULT_NAME,
}: Installation): <Value>(value: Value) => Value {
  const fill = (text: string): string =>
    text
      .replaceAll('{release}', release)
      .replaceAll('{fullname}', fullName)
      .replaceAll('{namespace}', namespace)
  const visit = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return key === 'remediation' ? fill(value) : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((each) => visit(each, ''))
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, visit(each, name)]),
    )
  }
  // The shape stays: only texts change.
  return <Value>(value: Value) => visit(value, '') as Value
}
