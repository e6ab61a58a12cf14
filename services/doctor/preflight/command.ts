import packageJson from '../../../package.json' with { type: 'json' }
import type { EnvSource } from '../../shared/env.ts'
import { openCluster } from '../kubernetes/cluster.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { PreflightCommand } from '../options.ts'
import type { Answer } from '../report.ts'
import { checkSelection } from '../selection.ts'
import type { Surroundings } from '../wait.ts'
import { planInstallation } from './installation.ts'
import { PREFLIGHT_NAMES, runPreflight } from './preflight.ts'
import { parseImage } from './registry-client.ts'
import { readValues } from './values.ts'

interface Place {
  readonly env: EnvSource
  readonly surroundings: Surroundings
}

/**
 * Prepares the checks before an installation, which can then run again and again. Raises
 * `invalid_request` and `invalid_configuration` for what the command line, the values or the
 * environment have wrong.
 */
export async function preflightOf(
  command: PreflightCommand,
  { env, surroundings }: Place,
): Promise<{ readonly ask: () => Promise<readonly Answer[]> }> {
  checkSelection(command, PREFLIGHT_NAMES)
  const { version } = packageJson
  const planned = planInstallation(await readValues(command.values), { env, version })
  const images = command.images.length > 0 ? command.images : planned.images
  for (const image of images) parseImage(image)
  return {
    async ask() {
      let opened: Promise<Cluster> | undefined
      const report = await runPreflight({
        ...command,
        installation: { ...planned, images },
        cluster: () => (opened ??= openCluster(command, env)),
        env,
        surroundings,
        version,
      })
      return [{ url: 'Before the installation', report }]
    },
  }
}
