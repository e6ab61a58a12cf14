import type { Resource } from '../resources/declaration.ts'
import { alerts } from './alerts.ts'
import { caseSets } from './case-sets.ts'
import { batches } from './batches.ts'
import { connections } from './connections.ts'
import { environmentVariables } from './environment-variables.ts'
import { erasures } from './erasures.ts'
import { evaluations } from './evaluations.ts'
import { featureFlags } from './feature-flags.ts'
import { gates } from './gates.ts'
import { gitSources } from './git-sources.ts'
import { invitations } from './invitations.ts'
import { legalHolds } from './legal-holds.ts'
import { llmConnections } from './llm-connections.ts'
import { members } from './members.ts'
import { oauthClients } from './oauth-clients.ts'
import { oauthSettings } from './oauth-settings.ts'
import { organizations } from './organizations.ts'
import { ownCrews } from './own-crews.ts'
import { prices } from './prices.ts'
import { regionRules } from './region-rules.ts'
import { replayGates } from './replay-gates.ts'
import { replays } from './replays.ts'
import { scoreRules } from './score-rules.ts'
import { schedules } from './schedules.ts'
import { staticTokens, tokensOfAutomation } from './static-tokens.ts'
import { traceForwards } from './trace-forwards.ts'
import { traceTokens } from './trace-tokens.ts'
import { traceScoreRules } from './trace-score-rules.ts'
import { triggers } from './triggers.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'
import { workloadRules } from './workload-rules.ts'

/** What people and programs set, each declared once. */
export const NOUNS: readonly Resource[] = [
  schedules,
  webhooks,
  triggers,
  workloadRules,
  replays,
  evaluations,
  gates,
  replayGates,
  caseSets,
  scoreRules,
  batches,
  ownCrews,
  environmentVariables,
  gitSources,
  alerts,
  connections,
  llmConnections,
  prices,
  regionRules,
  staticTokens,
  traceTokens,
  traceForwards,
  traceScoreRules,
  oauthSettings,
  oauthClients,
  members,
  invitations,
  erasures,
  legalHolds,
  organizations,
  users,
  featureFlags,
]

/** Nouns whose pages are by hand: a form of theirs does more than enter its fields. */
export const PAGES_BY_HAND: readonly Resource[] = [
  connections,
  ownCrews,
  environmentVariables,
  gitSources,
]

/** Nouns whose pages are below another parent as well. */
export const PAGES_ELSEWHERE: readonly Resource[] = [tokensOfAutomation]
