import { isObject } from './template/json.ts'
import { ValuesError } from './template/values-error.ts'

type Manifest = Readonly<Record<string, unknown>>

/**
 * Raises `ValuesError` where what an operator adds to a pod names a variable twice, mounts a volume
 * that there is not, or pauses for longer than the pod has to end, and where an object is there
 * twice. The API server would refuse it when
 * part of an upgrade is done.
 */
export function refuseFaults(manifests: readonly Manifest[]): void {
  const faults = [...manifests.flatMap(podFaults), ...twice(manifests.map(identityOf))]
  if (faults.length > 0) throw new ValuesError(faults)
}

const MOMENTS = ['preStop', 'postStart']

function podFaults(manifest: Manifest): readonly string[] {
  const pod = at(manifest, 'spec', 'template', 'spec')
  if (pod === undefined) return []
  const volumes = new Set(
    [
      ...listAt(pod, 'volumes'),
      ...listAt(at(manifest, 'spec'), 'volumeClaimTemplates').map((claim) => at(claim, 'metadata')),
    ].map(nameOf),
  )
  const grace = Number(at(pod, 'terminationGracePeriodSeconds') ?? 30)
  const containers = [...listAt(pod, 'initContainers'), ...listAt(pod, 'containers')]
  return containers.flatMap((container) => {
    const where = `${identityOf(manifest)}, container ${nameOf(container)}`
    const mounts = listAt(container, 'volumeMounts')
    const missing = mounts.map(nameOf).filter((name) => !volumes.has(name))
    const tooLong = MOMENTS.filter(
      (moment) => Number(at(container, 'lifecycle', moment, 'sleep', 'seconds')) > grace,
    )
    return [
      ...twice(listAt(container, 'env').map(nameOf)).map(
        (fault) => `${where}: the variable ${fault}`,
      ),
      ...twice(mounts.map((mount) => String(at(mount, 'mountPath')))).map(
        (fault) => `${where}: the mount ${fault}`,
      ),
      ...missing.map((name) => `${where}: there is no volume ${name} to mount`),
      ...tooLong.map((moment) => `${where}: ${moment} pauses for longer than ${grace} seconds`),
    ]
  })
}

const identityOf = (manifest: Manifest): string =>
  [at(manifest, 'kind'), at(manifest, 'metadata', 'namespace'), at(manifest, 'metadata', 'name')]
    .filter((part) => typeof part === 'string')
    .join(' ')

const twice = (names: readonly string[]): readonly string[] =>
  names
    .filter((name, index) => names.indexOf(name) !== index)
    .map((name) => `${name} is there twice`)

const at = (node: unknown, ...path: readonly string[]): unknown =>
  path.reduce((found, key) => (isObject(found) ? found[key] : undefined), node)

const listAt = (node: unknown, key: string): readonly unknown[] => {
  const list = at(node, key)
  return Array.isArray(list) ? list : []
}

const nameOf = (node: unknown): string => String(at(node, 'name'))
