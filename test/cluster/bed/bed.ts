import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildBaseImages, importBaseImages, loadOwnImages } from './images.ts'
import { command } from './command.ts'
import { makeCrewaiProject } from './crewai-project.ts'
import { loadFormerRelease } from './former-release.ts'
import { startKubernetes } from './kubernetes.ts'
import { inside, makeNamespaces, removeNamespaces } from './namespaces.ts'
import { removeControlGroups, stopContainers } from './node.ts'
import { fetchWheels, startOutside } from './outside.ts'
import { programOf, waitForPart } from './parts.ts'
import { makePlaces, network, places } from './places.ts'
import { buildPrograms } from './programs.ts'
import { startProcess, stopProcess } from './processes.ts'

type Progress = (text: string) => void

/**
 * Brings the bed up as far as it is not: programs, images, cluster, and the project's images in it,
 * and those of the release before where a step needs them.
 */
export async function bringUp(progress: Progress, hasFormer: boolean): Promise<void> {
  makePlaces()
  await buildPrograms(progress)
  await buildBaseImages(progress)
  await fetchWheels(progress)
  await makeCrewaiProject(progress)
  progress('starting Kubernetes')
  await makeNamespaces()
  await startOutside()
  await startKubernetes()
  await importBaseImages()
  const manifest = readFileSync(join(import.meta.dirname, '../manifests/system.yaml'), 'utf8')
  await kubectl(['apply', '-f', '-'], manifest)
  await restartStandIns()
  await waitForPart('kubelet', [
    programOf('kubectl'),
    'wait',
    '--for=condition=Ready',
    `node/${network.node}`,
    '--timeout=10s',
  ])
  await loadOwnImages(progress)
  if (hasFormer) await loadFormerRelease(progress)
  await waitForPart('kubelet', [
    programOf('kubectl'),
    '-n',
    'kube-system',
    'rollout',
    'status',
    'deployment/coredns',
    '--timeout=10s',
  ])
}

const kubectl = (words: readonly string[], input = ''): Promise<string> =>
  command(inside([programOf('kubectl'), ...words]), {
    input,
    env: { KUBECONFIG: places.kubeconfig },
  })

/** They are programs of this checkout, which may have changed since they were started. */
async function restartStandIns(): Promise<void> {
  await stopProcess('stand-ins')
  const main = join(import.meta.dirname, '../stand-ins/main.ts')
  startProcess(
    'stand-ins',
    inside([process.execPath, '--import', import.meta.resolve('tsx'), main]),
  )
}

/**
 * Takes the bed down: what it started and nothing else. The caches and the state of the cluster
 * stay.
 */
export async function takeDown(): Promise<void> {
  const controllers = ['kubelet', 'kube-controller-manager', 'kube-scheduler', 'stand-ins']
  const outside = ['outside-registry', 'outside-index']
  await Promise.all([...controllers, ...outside].map(stopProcess))
  await stopContainers().catch(() => undefined)
  for (const part of ['kube-proxy', 'containerd', 'kube-apiserver', 'etcd']) await stopProcess(part)
  await removeNamespaces()
  removeControlGroups()
}

/** Forgets the cluster, so that the next one starts from nothing; programs and images stay. */
export function forgetState(): void {
  for (const name of readdirSync(places.state)) {
    if (!name.endsWith('.pid')) rmSync(join(places.state, name), { recursive: true, force: true })
  }
}
