import type { Context } from 'hono'
import { meanCost } from '../../../platform/batches/forecast.ts'
import { forecastReserve } from '../../../platform/batches/reserve-batch.ts'
import { summarizeAutomation } from '../../../platform/automations/automation-summary.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import {
  listRetiringModels,
  retirementsOf,
} from '../../../platform/connections/model-retirements.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { listScoredDays } from '../../../platform/evaluations/run-scores.ts'
import { countRunsByStep } from '../../../platform/runs/activity.ts'
import { countRuns, listNewestRuns, sumOf } from '../../../platform/runs/run-list.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { SCORED_DAYS } from '../frame/score-sections.ts'
import type { AutomationPage } from './page.ts'

const RUNS_SHOWN = 20

/** Reads all that the first page of an automation shows. */
export type ReadAutomationPage = (
  c: Context<SignedIn>,
  automation: Automation,
) => Promise<AutomationPage>

/** Creates the reader that the routes of the page share: a refused form shows the page again. */
export function createPageReader({ sql, config }: WebDeps): ReadAutomationPage {
  const retirements = retirementsOf(config.MODEL_RETIREMENTS)
  return async (c, automation) => {
    const filter = { organizationId: automation.organizationId, deploymentId: automation.id }
    const [definition, runs, counts, summary, steps, cost, retiring, scored, forecast] =
      await Promise.all([
        getDefinition(sql, automation),
        listNewestRuns(sql, filter, RUNS_SHOWN),
        countRuns(sql, filter),
        summarizeAutomation(sql, automation),
        countRunsByStep(sql, filter, '7d'),
        meanCost(sql, automation),
        listRetiringModels(sql, retirements, { deploymentId: automation.id }),
        listScoredDays(sql, automation.id, SCORED_DAYS),
        forecastReserve(sql, automation),
      ])
    return {
      session: c.var.session,
      automation,
      definition,
      fields: inputFields(definition),
      runs,
      runsTotal: sumOf(counts),
      summary,
      steps,
      cost,
      retiring,
      scored,
      forecast,
    }
  }
}
