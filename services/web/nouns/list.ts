import type { Resource } from '../resources/declaration.ts'
import { invitations } from './invitations.ts'
import { llmConnections } from './llm-connections.ts'
import { members } from './members.ts'
import { oauthClients } from './oauth-clients.ts'
import { schedules } from './schedules.ts'
import { staticTokens, tokensOfAutomation } from './static-tokens.ts'
import { traceTokens } from './trace-tokens.ts'
import { webhooks } from './webhooks.ts'

/** What people and programs set, each declared once. */
export const NOUNS: readonly Resource[] = [
  schedules,
  webhooks,
  llmConnections,
  staticTokens,
  traceTokens,
  oauthClients,
  members,
  invitations,
]

/** Nouns whose pages are below another parent as well. */
export const PAGES_ELSEWHERE: readonly Resource[] = [tokensOfAutomation]
