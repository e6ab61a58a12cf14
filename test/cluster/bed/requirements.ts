import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hasCrewaiProject } from './crewai-project.ts'
import { missingImages } from './images.ts'
import { hasWheels } from './outside.ts'
import { places } from './places.ts'
import { missingPrograms } from './programs.ts'

/** What the modules of `programs` ask of Go. */
export const GO_VERSION = '1.26'

/** Where Debian keeps programs that only root runs. */
const ROOT_PATHS = ['/usr/local/go/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']

const PACKAGES: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ip: 'iproute2',
  nsenter: 'util-linux',
  openssl: 'openssl',
}
const TO_BUILD: Readonly<Record<string, string>> = {
  buildah: 'buildah',
  debootstrap: 'debootstrap',
}

/** Makes the programs that only root runs, and the bed's own, be found by their names. */
export function extendPath(): void {
  const paths = [places.programs, places.tools, process.env['PATH'] ?? '', ...ROOT_PATHS]
  process.env['PATH'] = paths.join(':')
}

const isFound = (program: string): boolean => spawnSync('which', [program]).status === 0

/** What keeps the bed from coming up on this machine; empty when nothing does. */
export function missingRequirements(): string[] {
  if (process.platform !== 'linux') return ['Linux']
  if (process.getuid?.() !== 0) return ['root: the bed makes namespaces, mounts and control groups']
  const packages = Object.entries({ ...PACKAGES, ...TO_BUILD })
    .filter(([program]) => !isFound(program))
    .map(([, name]) => name)
  return [
    ...(packages.length > 0 ? [`apt-get install ${packages.join(' ')}`] : []),
    ...(existsSync('/usr/lib/cni/bridge') ? [] : ['apt-get install containernetworking-plugins']),
    ...(missingPrograms().length > 0 && !isFound('go')
      ? [`Go ${GO_VERSION} or newer, to build Kubernetes`]
      : []),
    ...(helms().length > 0 ? [] : ['helm 3 or 4 (.ci/install-tools builds both)']),
  ]
}

/**
 * The versions of Helm that are installed, by the names under which the tests of the chart look for
 * them.
 */
export const helms = (): string[] => {
  const named = ['helm3', 'helm4'].filter(isFound)
  return named.length > 0 ? named : ['helm'].filter(isFound)
}

/** What would have to be built first; empty when the bed comes up within a minute. */
export const coldParts = (): string[] => [
  ...missingPrograms().map((name) => `the program ${name}`),
  ...missingImages().map((name) => `the image ${name}`),
  ...(hasWheels() ? [] : ['the index of packages']),
  ...(hasCrewaiProject() ? [] : ['the project of CrewAI']),
]
