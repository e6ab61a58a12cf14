import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { command } from './command.ts'
import { fingerprintOf, isDone, unlessDone } from './fingerprint.ts'
import { places } from './places.ts'
import { words } from './words.ts'

const sources = join(import.meta.dirname, '../programs')

/** The names by which the one program of Kubernetes is called. */
const PARTS_OF_KUBERNETES = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
]

interface Program {
  readonly name: string
  /** The directory of its Go module. */
  readonly module: string
  readonly package: string
  readonly flags?: readonly string[]
}

const PROGRAMS: readonly Program[] = [
  { name: 'pause', module: 'pause', package: '.' },
  { name: 'etcd', module: 'kubernetes', package: './etcd' },
  { name: 'coredns', module: 'coredns', package: '.' },
  {
    name: 'registry',
    module: 'registry',
    package: 'github.com/distribution/distribution/v3/cmd/registry',
  },
  { name: 'buildkitd', module: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildkitd' },
  { name: 'buildctl', module: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildctl' },
  {
    name: 'rootlesskit',
    module: 'buildkit',
    package: 'github.com/rootless-containers/rootlesskit/v2/cmd/rootlesskit',
  },
  {
    name: 'kubernetes',
    module: 'kubernetes',
    package: '.',
    flags: ['-tags', 'selinux_disabled'],
  },
]

/** The version of a module as the go.mod file of a program pins it. */
function pinnedVersion(module: string, dependency: string): string {
  const file = readFileSync(join(sources, module, 'go.mod'), 'utf8')
  const [, version] = new RegExp(`^(?:require)?\\s+${dependency} (\\S+)`, 'm').exec(file) ?? []
  if (version === undefined) throw new Error(`${module}/go.mod pins no ${dependency}`)
  return version
}

const recordOf = ({ name }: Program): string => join(places.programs, `${name}.built-from`)

/** The symbols of the linker that make Kubernetes call itself what it is. */
function linkerFlags({ name }: Program): string {
  if (name !== 'kubernetes') return '-s -w'
  const version = pinnedVersion('kubernetes', 'k8s.io/kubernetes')
  const [, minor = ''] = /^v1\.(\d+)\./.exec(version) ?? []
  const symbols = [
    `k8s.io/component-base/version.gitVersion=${version}`,
    `k8s.io/component-base/version.gitMajor=1`,
    `k8s.io/component-base/version.gitMinor=${minor}`,
    `k8s.io/client-go/pkg/version.gitVersion=${version}`,
  ]
  return ['-s', '-w', ...symbols.map((symbol) => `-X ${symbol}`)].join(' ')
}

const fingerprint = (program: Program): string =>
  fingerprintOf(sources, [program.module], [program.package, ...(program.flags ?? [])])

/** The programs that have yet to be built. */
export function missingPrograms(): string[] {
  return PROGRAMS.filter(
    (program) =>
      !isDone(recordOf(program), fingerprint(program)) ||
      !existsSync(join(places.programs, program.name)),
  ).map(({ name }) => name)
}

/**
 * Builds the programs of the cluster from their Go modules; minutes for Kubernetes, nothing when
 * they are there.
 */
export async function buildPrograms(progress: (text: string) => void): Promise<void> {
  const missing = new Set(missingPrograms())
  for (const program of PROGRAMS) {
    if (!missing.has(program.name)) continue
    progress(`building ${program.name} from its Go module`)
    await unlessDone(recordOf(program), fingerprint(program), () => build(program))
  }
  for (const part of PARTS_OF_KUBERNETES) {
    rmSync(join(places.programs, part), { force: true })
    symlinkSync('kubernetes', join(places.programs, part))
  }
}

async function build(program: Program): Promise<void> {
  const { name, module, flags = [] } = program
  await command(
    words`nice go build -trimpath -buildvcs=false -mod=readonly ${flags}
      -ldflags ${linkerFlags(program)} -o ${join(places.programs, name)} ${program.package}`,
    {
      cwd: join(sources, module),
      env: { CGO_ENABLED: '0' },
      timeoutMs: 60 * 60_000,
      log: join(places.programs, `${name}.log`),
    },
  )
}
