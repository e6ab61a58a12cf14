import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CREWAI, SLUGIFY } from '../../support/crewai-project.ts'
import { baseFingerprint, pythonReference } from './base-images.ts'
import { command } from './command.ts'
import { fingerprintOf, isDone, unlessDone } from './fingerprint.ts'
import { inside } from './namespaces.ts'
import { programOf, waitForPart, writeConfig } from './parts.ts'
import { network, places } from './places.ts'
import { startProcess } from './processes.ts'
import { buildahEnv } from './storage.ts'
import { words } from './words.ts'

/** The packages that projects of the walk need of a public index, beside what these need. */
const PACKAGES = ['humanize==4.13.0', `crewai[tools]==${CREWAI}`, `${SLUGIFY}==9.2.0`]
/** The Python of the image in which crews are installed. */
const PYTHON_VERSION = '3.11'

const registry = `${network.nodeAddress}:${network.outside.registryPort}`
const indexAddress = words`--bind ${network.nodeAddress} ${String(network.outside.indexPort)}`
const wheelsRecord = join(places.wheels, 'fetched-from')
const wheelsFingerprint = fingerprintOf(places.wheels, [], [...PACKAGES, PYTHON_VERSION])

export const hasWheels = (): boolean => isDone(wheelsRecord, wheelsFingerprint)

/** Fetches what the public index of the bed has; nothing when it is there. */
export const fetchWheels = (progress: (text: string) => void): Promise<void> =>
  unlessDone(wheelsRecord, wheelsFingerprint, async () => {
    progress(`fetching ${PACKAGES.join(', ')} for the index of the bed`)
    const index = join(places.wheels, 'simple')
    await rm(index, { recursive: true, force: true })
    await mkdir(index, { recursive: true })
    await command(
      words`python3 -m pip download --quiet --only-binary=:all: --python-version ${PYTHON_VERSION}
        --dest ${index} ${PACKAGES}`,
      { timeoutMs: 20 * 60_000, log: join(places.wheels, 'fetch.log') },
    )
    for (const wheel of await readdir(index)) {
      const [name = ''] = wheel.split('-')
      const folder = join(index, name.toLowerCase().replaceAll(/[_.]+/g, '-'))
      await mkdir(folder, { recursive: true })
      await rename(join(index, wheel), join(folder, wheel))
    }
  })

/**
 * Starts what a cluster finds outside of it: a registry with the image that crews are built from,
 * and a public index of packages. Nothing of the real outside is reached from the bed.
 */
export async function startOutside(): Promise<void> {
  const config = join(places.config, 'outside-registry.yml')
  const root = join(places.state, 'outside-registry')
  writeConfig(config, registryConfig(root))
  startProcess('outside-registry', inside([programOf('registry'), 'serve', config]))
  await waitForPart('outside-registry', [process.execPath, '-e', `fetch('http://${registry}/v2/')`])
  const server = words`python3 -m http.server --directory ${places.wheels} ${indexAddress}`
  startProcess('outside-index', inside(server))
  await unlessDone(join(root, 'pushed-from'), baseFingerprint('python'), async () => {
    const image = pythonReference()
    const target = `docker://${registry}/${image.replace(/^docker\.io\//, '')}`
    const line = inside(words`buildah push --tls-verify=false ${image} ${target}`)
    await command(line, { env: buildahEnv(), timeoutMs: 10 * 60_000 })
  })
}

const registryConfig = (root: string): string => `version: 0.1
log: { level: warn, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: ${root} } }
http: { addr: '${registry}' }
`
