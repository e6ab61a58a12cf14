import type { Context, Hono } from 'hono'
import { listConnectedModels } from '../../../platform/connections/llm-connections.ts'
import { listCaseSets } from '../../../platform/evaluations/case-sets.ts'
import { addCases } from '../../../platform/evaluations/cases.ts'
import { caseBody } from '../../../platform/evaluations/case-files.ts'
import { changeCall, REQUEST_BYTES_MAX } from '../../../platform/model-calls/call-fields.ts'
import { AppError, toAppError } from '../../../shared/errors.ts'
import type { LlmCall } from '../../../shared/models/llm-call.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { casesEntry, versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { parseBody } from '../../http/parse-body.ts'
import { createRoom } from '../frame/room.ts'
import { getSpanPlace } from '../../traces/trace-place.ts'
import { readChange } from './form.ts'
import { callPage } from './page.ts'
import type { CallPage } from './page.ts'
import {
  draftCall,
  getAsked,
  getCallOfRun,
  getCallOfSpan,
  writeCall,
} from '../../model-calls/subjects.ts'
import type { CallSubject, OwnCall } from '../../model-calls/subjects.ts'
import { createCosts, createTries } from '../../model-calls/try-call.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'

/** A form writes most characters of other scripts in nine bytes. */
const FORM_BYTES_MAX = 4 * REQUEST_BYTES_MAX

/** Where a call is, and how it is found. */
interface Place {
  readonly path: string
  readonly find: (c: Context<SignedIn>) => Promise<CallSubject>
}

type Done = Pick<CallPage, 'changed' | 'tried' | 'problem' | 'written'>

/** Serves the pages on which recorded calls of models are made again, changed. */
export function modelCallPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps, {}, FORM_BYTES_MAX)
  const perform = createActions(deps)

  async function take(c: Context<SignedIn>, subject: CallSubject): Promise<Response> {
    const asked = getAsked(subject)
    let changed: LlmCall | undefined
    try {
      changed = changeCall(asked, readChange(c.var.form, asked))
      const made = await perform(c, subject, changed)
      if (typeof made === 'string') return c.redirect(made, 303)
      const written = await writeCall(deps.sql, subject, { changed, withTexts: true })
      return c.html(callPage(await readPage(deps, c, { subject, changed, tried: made, written })))
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.status >= 500) throw thrown
      const page = await readPage(deps, c, { subject, changed, problem: error.message })
      for (const [name, value] of Object.entries(error.headers)) c.header(name, value)
      return c.html(callPage(page), error.status)
    }
  }

  for (const { path, find } of placesOf(deps)) {
    room.page('viewer', path, async (c) =>
      c.html(callPage(await readPage(deps, c, { subject: await find(c) }))),
    )
    room.form('editor', path, async (c) => take(c, await find(c)))
  }
  return room.routes
}

const placesOf = (deps: WebDeps): readonly Place[] => [
  {
    path: '/automations/:automationId/executions/:kickoffId/calls/:stepKey',
    async find(c) {
      const runId = c.req.param('kickoffId') ?? ''
      const step = c.req.param('stepKey') ?? ''
      const subject = await getCallOfRun(deps.sql, organizationOf(c), { runId, step })
      if (subject.run.automationId === c.req.param('automationId')) return subject
      throw new AppError('not_found', 'This automation has no such run.')
    },
  },
  {
    path: '/traces/:traceId/spans/:spanId/try',
    find: (c) => getCallOfSpan(deps, organizationOf(c), getSpanPlace(c)),
  },
]

interface Shown extends Done {
  readonly subject: CallSubject
}

async function readPage(
  deps: WebDeps,
  c: Context<SignedIn>,
  { subject: { recorded, run, organizationId }, ...done }: Shown,
): Promise<CallPage> {
  const { usage, model } = recorded
  const costs = await createCosts(deps, organizationId)
  return {
    ...done,
    session: c.var.session,
    path: c.req.path,
    recorded,
    run,
    models: await listConnectedModels(deps.sql, organizationId),
    sets: run ? await listCaseSets(deps.sql, run.deploymentId) : [],
    recordedUsd: usage ? costs(model, usage) : null,
  }
}

/** Creates what a form asks for: it returns an answer, or the address that it leads to. */
function createActions(deps: WebDeps) {
  const { sql } = deps
  const audited = createAudited(sql)
  const tryCall = createTries(deps)

  async function addCase(c: Context<SignedIn>, run: RunRecord): Promise<string> {
    const { form } = c.var
    const sets = await listCaseSets(sql, run.deploymentId)
    const set = sets.find(({ id }) => id === form.get('set'))
    if (!set) throw new AppError('unprocessable', 'Choose a set of cases of the automation.')
    const expected = form.has('with_expected') ? form.get('answer') : null
    const given = parseBody(caseBody, { name: 'A call made again', inputs: run.inputs, expected })
    await audited(
      c.var,
      (tx) => addCases(tx, set, [given]),
      (added) => casesEntry(set, { added }),
    )
    return `/automations/${run.automationId}/case-sets/${set.id}?notice=cases-added`
  }

  async function addDraft(c: Context<SignedIn>, subject: OwnCall, changed: LlmCall) {
    const withTexts = c.var.form.get('do') === 'version'
    const draft = await audited(
      c.var,
      (tx) => draftCall(tx, subject, { changed, withTexts }),
      (created) => versionEntry('version_created', created),
    )
    return `/projects/${draft.projectId}/versions/${draft.number}?notice=draft-added`
  }

  return async (c: Context<SignedIn>, subject: CallSubject, changed: LlmCall) => {
    const { organizationId, run } = subject
    const wish = c.var.form.get('do') ?? 'send'
    if (wish === 'send') {
      const target = { kind: run ? 'run' : 'trace', id: run?.id ?? c.req.param('traceId') ?? '' }
      const deploymentId = run?.deploymentId ?? null
      return tryCall(c.var, { organizationId, deploymentId, call: changed, target })
    }
    if (!run) throw new AppError('unprocessable', 'The call is of no run of an automation.')
    return wish === 'case' ? addCase(c, run) : addDraft(c, { ...subject, run }, changed)
  }
}

const organizationOf = (c: Context<SignedIn>): number => c.var.session.user.organizationId
