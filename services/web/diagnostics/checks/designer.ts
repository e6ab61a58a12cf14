import { isEnabled } from '../../../platform/feature-flags.ts'
import { readCoreTables, readOnly } from '../../../platform/diagnostics.ts'
import { findInternalOrganization } from '../../../platform/crews/internal-crews.ts'
import type { InternalOrganization } from '../../../platform/crews/internal-crews.ts'
import type { Check, CheckContext, Surroundings } from '../check.ts'
import { databaseFailure, TABLE_CODES } from '../database-failure.ts'
import { CLUSTER_CODES } from '../kubernetes/deployments.ts'
import { combine, layerOf, oneFailure, onePassed } from '../layer.ts'
import type { Layer } from '../layer.ts'
import { ROUTE_CODES } from '../mounted-routes.ts'
import type { IsMounted } from '../mounted-routes.ts'
import { orAbort } from '../or-abort.ts'
import { RUN_CODES } from '../run-codes.ts'
import { checkCrewPods, CREW_POD_CODES } from './designer/crew-pods.ts'
import type { CrewPodDetails } from './designer/crew-pods.ts'
import { crewsTable } from './designer/crews-table.ts'
import { checkQueue, QUEUE_WARNINGS } from './designer/queue.ts'
import type { QueueDetails } from './designer/queue.ts'
import { checkRegions, REGION_WARNINGS } from './designer/regions.ts'
import { checkRetirements, RETIREMENT_WARNINGS } from './designer/retirements.ts'
import { checkInstall, INSTALL_CODES } from './designer/install.ts'
import type { InstallDetails } from './designer/install.ts'

type DesignerDetails = InstallDetails & CrewPodDetails & QueueDetails
type DesignerLayer = Layer<DesignerDetails>

/**
 * Tables, route, the installed crews, and their pods. Each layer reads in a transaction of its own,
 * so that one that fails or waits for a lock hides nothing of the others.
 */
export const designerCheck: Check<DesignerDetails> = {
  weight: 'optional',
  title: 'Designer',
  skipped: 'Not checked',
  passes: {
    project_table_readable: 'Core tables readable',
    designer_v2_route_mounted: '/designer/v2 mounted',
    agent_install_complete: 'Assistant online',
    runner_install_complete: 'Runner online',
    crew_pods_ready: 'Crew pods ready',
  },
  failures: {
    ...TABLE_CODES,
    ...ROUTE_CODES,
    ...INSTALL_CODES,
    ...CREW_POD_CODES,
    ...CLUSTER_CODES,
  },
  warnings: { ...QUEUE_WARNINGS, ...RETIREMENT_WARNINGS, ...REGION_WARNINGS },
  timeout: RUN_CODES.timeout,
  page: { section: crewsTable },

  async run(context, surroundings) {
    const [[tables, ...warned], installed] = await Promise.all([
      // One after the other: a diagnosis has few connections.
      checkTables(context).then(
        async (layer) =>
          [
            layer,
            await checkQueue(context),
            await checkRetirements(context, surroundings.config),
            await checkRegions(context),
          ] as const,
      ),
      checkInstalled(context, surroundings),
    ])
    const layers: DesignerLayer[] = [
      tables,
      checkRoute(surroundings.isMounted),
      ...installed,
      ...warned,
    ]
    return combine(layers)
  },
}

async function checkTables({ signal, sql }: CheckContext): Promise<Layer> {
  try {
    await orAbort(signal, readOnly(sql, readCoreTables))
    return onePassed('project_table_readable')
  } catch (thrown) {
    return layerOf(databaseFailure(thrown))
  }
}

const checkRoute = (isMounted: IsMounted): Layer =>
  isMounted('designer')
    ? onePassed('designer_v2_route_mounted')
    : oneFailure(ROUTE_CODES.route_not_mounted, 'designer route /designer/v2 not mounted')

/** The records of the installation, and the pods that they promise. */
async function checkInstalled(
  context: CheckContext,
  surroundings: Surroundings,
): Promise<readonly DesignerLayer[]> {
  const { signal, sql } = context
  try {
    const organization = await orAbort(signal, readOnly(sql, findInternalOrganization))
    const pods = organization ? await checkPods(context, surroundings, organization) : unknownPods
    return [checkInstall(organization), pods]
  } catch (thrown) {
    return [layerOf(databaseFailure(thrown)), unknownPods]
  }
}

async function checkPods(
  { signal, sql }: CheckContext,
  { kubernetes, config }: Surroundings,
  organization: InternalOrganization,
): Promise<DesignerLayer> {
  try {
    // What is asked when the time is over ends with connections that are gone.
    signal.throwIfAborted()
    const isolated = await orAbort(
      signal,
      readOnly(sql, (transaction) =>
        isEnabled(transaction, 'k8s_namespace_isolation', organization.id),
      ),
    )
    const { K8S_NAMESPACE: crewNamespace } = config
    return await checkCrewPods({ kubernetes, crewNamespace, signal, organization, isolated })
  } catch (thrown) {
    return { ...layerOf(databaseFailure(thrown)), details: unknownPods.details }
  }
}

const unknownPods: DesignerLayer = {
  passed: [],
  failures: [],
  details: { crew_pods_status: 'skipped' },
}
