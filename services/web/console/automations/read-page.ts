import type { Context } from 'hono'
import { findAutomationOauth } from '../../../platform/automation-oauth.ts'
import { getDefinition } from '../../../platform/automations.ts'
import type { Automation } from '../../../platform/automations.ts'
import { listBudgets } from '../../../platform/budgets.ts'
import { inputFields } from '../../../platform/crew-inputs.ts'
import { countRuns, listNewestRuns, sumOf } from '../../../platform/run-list.ts'
import { listStaticTokens } from '../../../platform/static-tokens.ts'
import { listWebhooks } from '../../../platform/webhooks.ts'
import { automationUrl } from '../../automation-api/automation-urls.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createSnippets } from './client-snippets.ts'
import type { AutomationPage } from './page.ts'

const RUNS_SHOWN = 10
const TOKENS_SHOWN = 10

/** Reads all that the page of an automation shows. */
export type ReadAutomationPage = (
  c: Context<SignedIn>,
  automation: Automation,
) => Promise<AutomationPage>

/** Creates the reader that the routes of the page share: a refused form shows the page again. */
export function createPageReader({ sql, config }: WebDeps): ReadAutomationPage {
  const snippetsFor = createSnippets()
  return async (c, automation) => {
    const { organizationId, id: deploymentId } = automation
    const filter = { organizationId, deploymentId }
    const [definition, runs, counts, tokens, webhooks, budgets, oauth] = await Promise.all([
      getDefinition(sql, automation),
      listNewestRuns(sql, filter, RUNS_SHOWN),
      countRuns(sql, filter),
      listStaticTokens(sql, automation, { limit: TOKENS_SHOWN }),
      listWebhooks(sql, deploymentId),
      listBudgets(sql, filter),
      findAutomationOauth(sql, organizationId),
    ])
    return {
      session: c.var.session,
      automation,
      definition,
      fields: inputFields(definition),
      runs,
      runsTotal: sumOf(counts),
      tokens,
      webhooks,
      budgets,
      oauth,
      apiUrl: automationUrl(config, automation.automationId),
      snippetsFor,
      tokenDaysMax: config.STATIC_TOKEN_DAYS_MAX,
    }
  }
}
