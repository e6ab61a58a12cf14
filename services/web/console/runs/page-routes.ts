import type { Context, Hono } from 'hono'
import { findBudgetStop } from '../../../platform/budgets/budget-stops.ts'
import { findRunScore } from '../../../platform/evaluations/run-scores.ts'
import { findConnectionOfError } from '../../../platform/connections/llm-connections.ts'
import { findReceipt, hasReceipt } from '../../../platform/receipts/receipts.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { countTokens, listProgress, readProgressPage } from '../../../platform/runs/progress.ts'
import type { Progress } from '../../../platform/runs/progress.ts'
import { getVersionOf } from '../../../platform/runs/run-again.ts'
import { findApproval } from '../../../platform/runs/run-approvals.ts'
import { listIdentityTokens } from '../../../platform/connections/identity-tokens.ts'
import { listArtifacts } from '../../../platform/runs/run-artifacts.ts'
import { listLinkedRuns } from '../../../platform/runs/called-runs.ts'
import { countSteps } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import { automationUrl } from '../../api/automation/automation-urls.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnRun } from '../frame/own-automation.ts'
import { runPage, runParts } from './page.ts'
import type { RunPage } from './page.ts'
import { isJson } from '../frame/text/text-format.ts'
import { createRoom } from '../frame/room.ts'

const STEPS_SHOWN = 500

/** Serves the page of a run, the part of it that changes while it goes on, and its output. */
export function runPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const path = '/automations/:automationId/executions/:kickoffId'

  room.page('viewer', path, async (c) => c.html(runPage(await readPage(c, deps))))

  room.page('viewer', `${path}/live`, async (c) => {
    const { run } = await getOwnRun(c, sql)
    // Compared before the steps are read: mostly there is nothing new.
    const etag = etagOf(run, await listProgress(sql, run.id, 1))
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(runParts(await readPage(c, deps)), 200, { etag })
  })

  room.page('viewer', `${path}/output`, async (c) => {
    const { run } = await getOwnRun(c, sql)
    if (run.output === null) throw new AppError('not_found', 'This run has no output.')
    return download(c, run.id, run.output)
  })

  room.page('viewer', `${path}/receipt`, async (c) => {
    const { automation, run } = await getOwnRun(c, sql)
    const { organizationId } = automation
    const receipt = await findReceipt(sql, { organizationId, runId: run.id })
    if (!receipt) throw new AppError('not_found', 'This run has no receipt yet.')
    return c.body(`${JSON.stringify(receipt, null, 2)}\n`, 200, {
      'content-type': 'application/json',
      'content-disposition': `attachment; filename="receipt-${run.id}.json"`,
    })
  })

  return room.routes
}

async function readPage(c: Context<SignedIn>, { sql, config, traces }: WebDeps): Promise<RunPage> {
  const { automation, run } = await getOwnRun(c, sql)
  const steps = { limit: STEPS_SHOWN, cursor: c.req.query('before') }
  return {
    session: c.var.session,
    automation,
    run,
    progress: await readProgressPage(sql, run.id, steps),
    usage: run.usage ?? (await countTokens(sql, run.id)),
    textView: c.req.query('view') === 'raw' ? 'raw' : 'rendered',
    apiUrl: automationUrl(config, automation.automationId),
    notice: c.var.notice,
    artifacts: await listArtifacts(sql, run.id),
    identities: await listIdentityTokens(sql, run.id),
    score: await findRunScore(sql, run.id),
    linked: await listLinkedRuns(sql, run.id),
    keptSteps: await countSteps(sql, run.id),
    hasReceipt: run.finishedAt !== null && (await hasReceipt(sql, run.id)),
    version: await getVersionOf(sql, run.id),
    stopped: run.status === 'waiting' ? await findBudgetStop(sql, run.id) : undefined,
    approval: run.status === 'waiting' ? await findApproval(sql, run.id) : undefined,
    connection:
      run.error === null
        ? undefined
        : await findConnectionOfError(sql, c.var.session.user.organizationId, run.error),
    hasTrace: traces !== undefined && run.startedAt !== null,
  }
}

/** Changes with the status, with each attempt and with each step. */
function etagOf({ status, attempt }: Run, [last]: readonly Progress[]): string {
  return `W/"${[status, attempt, last?.attempt, last?.position].join('.')}"`
}

function download(c: Context, id: string, output: string): Response {
  const [type, extension] = isJson(output)
    ? ['application/json', 'json']
    : ['text/markdown; charset=utf-8', 'md']
  return c.body(output, 200, {
    'content-type': type,
    'content-disposition': `attachment; filename="run-${id}.${extension}"`,
  })
}
