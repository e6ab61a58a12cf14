import { isEnabled } from '../../../platform/feature-flags.ts'
import { readCoreTables, readOnly } from '../../../platform/diagnostics.ts'
import { findInternalOrganization, INTERNAL_CREWS } from '../../../platform/internal-crews.ts'
import type { InternalOrganization } from '../../../platform/internal-crews.ts'
import type { Database } from '../../../shared/database.ts'
import type { KubernetesAddress } from '../../../shared/kubernetes.ts'
import type { FailureCode } from '../failure-codes.ts'
import { failed, passed } from '../findings.ts'
import type { IsMounted } from '../mounted-routes.ts'
import type { Details, Failure, Finding } from '../report.ts'
import { orAbort } from '../run-checks.ts'
import type { Check } from '../run-checks.ts'
import type { Layer } from '../layer.ts'
import { checkCrewPods } from './crew-pods.ts'
import { databaseFailure } from './database.ts'

export interface DesignerSurroundings {
  readonly isMounted: IsMounted
  readonly kubernetes: KubernetesAddress | undefined
  /** `K8S_NAMESPACE`, where the crews run. */
  readonly crewNamespace: string | undefined
}

/** Tables, routes, the installed crews, and their pods. A layer that fails does not keep the others from being looked at. */
export function designerCheck(surroundings: DesignerSurroundings): Check {
  return {
    timeoutCode: 'timeout',
    async run({ signal, sql }) {
      const route = checkRoute(surroundings.isMounted)
      try {
        const { organization, isolated } = await orAbort(signal, readInstall(sql))
        const tables = { passed: ['project_table_readable'], failures: [], details: {} }
        const install = checkInstall(organization)
        const pods = await checkCrewPods({ ...surroundings, signal, organization, isolated })
        return combine([tables, route, install, pods])
      } catch (thrown) {
        return combine([layerOf(databaseFailure(thrown)), route, unknownPods])
      }
    },
  }
}

const unknownPods: Layer = { passed: [], failures: [], details: { crew_pods_status: 'skipped' } }

function readInstall(sql: Database) {
  return readOnly(sql, async (transaction) => {
    await readCoreTables(transaction)
    const organization = await findInternalOrganization(transaction)
    const isolated =
      organization !== undefined &&
      (await isEnabled(transaction, 'k8s_namespace_isolation', organization.id))
    return { organization, isolated }
  })
}

const layerOf = ({ error, details }: Failure): Layer => ({
  passed: [],
  failures: [{ code: details.code, error }],
  details: {},
})

const checkRoute = (isMounted: IsMounted): Layer =>
  isMounted('designer')
    ? { passed: ['designer_v2_route_mounted'], failures: [], details: {} }
    : {
        passed: [],
        failures: [{ code: 'route_not_mounted', error: 'designer route /designer/v2 not mounted' }],
        details: {},
      }

/** Whether the Assistant and the Runner are there and online. */
function checkInstall(organization: InternalOrganization | undefined): Layer {
  if (!organization) {
    const error = 'internal organization not found'
    return { passed: [], failures: [{ code: 'internal_org_missing', error }], details: {} }
  }
  const parts = [
    checkCrew(organization, { part: 'agent', code: 'agent_install_incomplete' }),
    checkCrew(organization, { part: 'runner', code: 'runner_install_incomplete' }),
  ]
  const internal_deployments = organization.deployments.map(({ id, slug, status }) => ({
    id,
    slug,
    status,
    ready: status === 'Crew is Online',
  }))
  const own = { internal_organization: organization.name, internal_deployments }
  return {
    passed: parts.flatMap((part) => part.passed),
    failures: parts.flatMap((part) => part.failures),
    details: Object.assign({}, own, ...parts.map((part) => part.details)) as Details,
  }
}

interface Part {
  readonly part: keyof typeof INTERNAL_CREWS
  readonly code: FailureCode
}

function checkCrew({ deployments }: InternalOrganization, { part, code }: Part): Layer {
  const expected: readonly string[] = INTERNAL_CREWS[part].slugs
  const existing = deployments.filter(({ slug }) => expected.includes(slug))
  const existingSlugs = existing.map(({ slug }) => slug)
  const notOnline = existing.filter(({ status }) => status !== 'Crew is Online')
  const missing = expected.filter((slug) => !existingSlugs.includes(slug))
  if (missing.length === 0 && notOnline.length === 0) {
    return { passed: [`${part}_install_complete`], failures: [], details: {} }
  }
  const why = [
    ...missing.map((slug) => `${slug} does not exist`),
    ...notOnline.map(({ slug, status }) => `${slug} says "${status}"`),
  ]
  return {
    passed: [],
    failures: [{ code, error: `${part} install incomplete: ${why.join(', ')}` }],
    details: {
      [part]: {
        expected_slugs: expected,
        existing_slugs: existingSlugs,
        not_online_slugs: notOnline.map(({ slug }) => slug),
      },
    },
  }
}

function combine(layers: readonly Layer[]): Finding {
  const checks = layers.flatMap((layer) => layer.passed)
  const failures = layers.flatMap((layer) => layer.failures)
  const details = Object.assign({}, ...layers.map((layer) => layer.details)) as Details
  const [first] = failures
  if (!first) return passed({ checks, details })
  const error = failures.map((failure) => failure.error).join('; ')
  return failed(first.code, error, { checks, details })
}
