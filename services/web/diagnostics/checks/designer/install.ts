import { INTERNAL_CREWS } from '../../../../platform/definitions/internal-crew-definitions.ts'
import type { InternalOrganization } from '../../../../platform/crews/internal-crews.ts'
import { installCrew, runInWeb } from '../../cluster-commands.ts'
import { declareCodes } from '../../failure-code.ts'
import type { FailureCode } from '../../failure-code.ts'
import { oneFailure } from '../../layer.ts'
import type { Layer } from '../../layer.ts'

/** The codes of crews that are not installed, or not online. */
export const INSTALL_CODES = declareCodes({
  internal_org_missing: `${runInWeb('designer:install_internal_organization')}.`,
  agent_install_incomplete: installCrew('designer:agent:install'),
  runner_install_incomplete: installCrew('designer:runner:install'),
})

type Part = keyof typeof INTERNAL_CREWS

interface InternalCrew {
  readonly id: number
  readonly slug: string
  readonly status: string
  readonly ready: boolean
}

interface IncompleteInstall {
  readonly expected_slugs: readonly string[]
  readonly existing_slugs: readonly string[]
  readonly not_online_slugs: readonly string[]
}

/** The internal organization with its crews, and the installs that are not complete (SPEC 2.4). */
export interface InstallDetails extends Readonly<Record<Part, IncompleteInstall>> {
  readonly internal_organization: string
  readonly internal_deployments: readonly InternalCrew[]
}

/** Checks that the Assistant and the Runner are installed and online. */
export function checkInstall(
  organization: InternalOrganization | undefined,
): Layer<InstallDetails> {
  if (!organization) {
    return oneFailure(INSTALL_CODES.internal_org_missing, 'internal organization not found')
  }
  const agent = checkPart(organization, 'agent', INSTALL_CODES.agent_install_incomplete)
  const runner = checkPart(organization, 'runner', INSTALL_CODES.runner_install_incomplete)
  const crews = organization.deployments.map(({ id, slug, status }) => ({
    id,
    slug,
    status,
    ready: status === 'Crew is Online',
  }))
  return {
    passed: [...agent.passed, ...runner.passed],
    failures: [...agent.failures, ...runner.failures],
    details: {
      internal_organization: organization.name,
      internal_deployments: crews,
      ...agent.details,
      ...runner.details,
    },
  }
}

function checkPart(
  { deployments }: InternalOrganization,
  part: Part,
  cause: FailureCode,
): Layer<InstallDetails> {
  const expected: readonly string[] = INTERNAL_CREWS[part].slugs
  const existing = deployments.filter(({ slug }) => expected.includes(slug))
  const existingSlugs = existing.map(({ slug }) => slug)
  const notOnline = existing.filter(({ status }) => status !== 'Crew is Online')
  const missing = expected.filter((slug) => !existingSlugs.includes(slug))
  if (missing.length === 0 && notOnline.length === 0) {
    return { passed: [`${part}_install_complete`], failures: [], details: {} }
  }
  const reasons = [
    ...missing.map((slug) => `${slug} does not exist`),
    ...notOnline.map(({ slug, status }) => `${slug} says "${status}"`),
  ]
  const incomplete = {
    expected_slugs: expected,
    existing_slugs: existingSlugs,
    not_online_slugs: notOnline.map(({ slug }) => slug),
  }
  return {
    passed: [],
    failures: [{ cause, error: `${part} install incomplete: ${reasons.join(', ')}` }],
    details: part === 'agent' ? { agent: incomplete } : { runner: incomplete },
  }
}
