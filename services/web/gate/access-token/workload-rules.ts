import { usualAutomationOauth } from '../../../platform/automations/automation-oauth-fields.ts'
import { isWanted } from '../../../platform/workloads/workload-rule-fields.ts'
import type { WorkloadRuleFields } from '../../../platform/workloads/workload-rules.ts'
import { claimRules } from './claim-rules.ts'
import type { TokenContext } from './gate.ts'
import { claimOf, show } from './rule.ts'
import type { Rule } from './rule.ts'

/** A rule for workloads with the address of its automation, which is the audience. */
interface Asked extends Pick<WorkloadRuleFields, 'issuer' | 'jwksUrl' | 'claims'> {
  readonly organizationId: number
  readonly audience: string
}

/**
 * Returns what the token of a workload has to meet: the rules of access tokens but those for OAuth
 * clients, an audience that no other service is, and the claims that people entered.
 */
export const workloadContext = ({
  organizationId,
  issuer,
  jwksUrl,
  claims,
  audience,
}: Asked): TokenContext => ({
  organizationId,
  settings: { ...usualAutomationOauth(audience), issuer, jwksUrl },
  boundClient: null,
  signed: [...claimRules, onlyAudience, ...Object.entries(claims).map(claimRule)],
})

/** Each other audience has the token as well, and could send it here. */
const onlyAudience: Rule = {
  name: 'No other audience',
  check: ({ audiences }) => (audiences.length === 1 ? undefined : 'other_audiences'),
  seen: ({ claims }) => show(claimOf(claims, 'aud')),
  expected: () => 'the address of the automation alone',
}

const claimRule = ([claim, wanted]: readonly [string, string]): Rule => ({
  name: `Claim ${claim}`,
  check: ({ claims }) => (isWanted(claimOf(claims, claim), wanted) ? undefined : 'claim_mismatch'),
  seen: ({ claims }) => show(claimOf(claims, claim)),
  expected: () => `${wanted.endsWith('*') ? 'a text that begins as ' : ''}${show(wanted)}`,
})
