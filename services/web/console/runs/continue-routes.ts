import { isDeepStrictEqual } from 'node:util'
import { randomUUID } from 'node:crypto'
import type { Hono } from 'hono'
import { html } from 'hono/html'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { getVersionOf, startFork, startRetry } from '../../../platform/runs/run-again.ts'
import type { Fork } from '../../../platform/runs/run-again.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import type { ListedStep } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnRunToRepeat } from '../frame/own-automation.ts'
import { createRunFormReader } from '../frame/run-form.ts'
import { toTexts } from '../frame/start-form.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { createRoom } from '../frame/room.ts'
import { icon } from '../frame/icons.ts'
import { formType, inputField } from '../frame/input-field.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { shortId } from '../frame/format.ts'

/** Goes on from a step of a run, from the browser. */
export function continueRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const readRunForm = createRunFormReader(deps)
  const room = createRoom(deps)
  const path = '/automations/:automationId/executions/:kickoffId/continue'

  room.page('editor', path, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const { definition } = await getVersionOf(sql, run.id)
    const view = { session: c.var.session, automation, run, fields: inputFields(definition) }
    const steps = await listSteps(sql, run.id)
    const fromStep = c.req.query('from_step') ?? ''
    const texts = toTexts(run.inputs)
    return c.html(continuePage({ ...view, steps, texts, fromStep, problem: undefined }))
  })

  room.upload('editor', path, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const { definition } = await getVersionOf(sql, run.id)
    const { form, texts, prepared, problem } = await readRunForm(c, () => ({
      automation,
      definition,
    }))
    const { inputs } = prepared
    const fromStep = form.get('from_step') ?? ''
    const idempotencyKey = startOnceKey(form.get('start_once'), { ...texts, fromStep })
    const starter = toStarter(c.var.actor, 'console')
    const admit = deps.queue.of(automation.organizationId)
    const place = { fromStep: fromStep || undefined, starter, admit }
    const request = { automation, run, inputs, idempotencyKey, ...place }
    const started = problem === undefined ? await goOn(sql, request) : { problem }
    if ('id' in started) {
      Object.assign(c.var.wide, { kickoff_id: started.id, continues: run.id })
      return c.redirect(runPath(automation, started), 303)
    }
    const view = { session: c.var.session, automation, run, fields: inputFields(definition) }
    const steps = await listSteps(sql, run.id)
    return c.html(continuePage({ ...view, steps, texts, fromStep, ...started }), 422)
  })

  return room.routes
}

/** The same inputs make a retry; a form shows them as text, so they are compared as that. */
async function goOn(sql: Database, fork: Fork): Promise<{ id: string } | { problem: string }> {
  const isSame = isDeepStrictEqual(toTexts(fork.inputs), toTexts(fork.run.inputs))
  try {
    return { id: await (isSame ? startRetry(sql, fork) : startFork(sql, fork)) }
  } catch (thrown) {
    if (thrown instanceof AppError) return { problem: thrown.message }
    throw thrown
  }
}

/** The form that goes on from a step of a run. */
interface ContinuePage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly steps: readonly ListedStep[]
  readonly fields: readonly InputField[]
  /** As they were typed, or as the run had them. */
  readonly texts: Readonly<Record<string, string>>
  readonly fromStep: string
  readonly problem: string | undefined
}

/** The most steps that can be chosen from. */
const STEPS_SHOWN = 500

/** The page on which a run goes on from one of its steps, perhaps with other inputs. */
function continuePage(view: ContinuePage): Html {
  const { session, automation, run, fields, texts } = view
  const path = runPath(automation, run)
  return page(
    { title: 'Continue from a step', session, current: '/executions' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a
        ><a href="${path}">${shortId(run.id)}</a>
      </nav>
      <div class="card lone">
        <h1>Continue from a step</h1>
        <p>
          A new run keeps what finished and does not depend on the step, and does the rest: the
          step, what came after it in its task, and the tasks that wait for that one. Steps that are
          kept cost nothing again, also when you change the inputs that led to them.
        </p>
        ${problemBox(view.problem)}
        <form method="post" action="${path}/continue" enctype="${formType(fields)}" class="stack">
          ${csrfField(session.csrfToken)}
          <input type="hidden" name="start_once" value="${randomUUID()}" />
          ${stepField(view)} ${fields.map((field) => inputField(field, texts[field.name]))}
          <div class="buttons">
            <button class="button primary">${icon('play')}<span>Start</span></button>
            <a class="button" href="${path}">Cancel</a>
          </div>
        </form>
      </div>`,
  )
}

function stepField({ run, steps, fromStep }: ContinuePage): Html {
  const option = (value: string, text: string): Html =>
    html`<option value="${value}" ${value === fromStep ? 'selected' : ''}>${text}</option>`
  return html`<label
    ><span>Step</span>
    <select name="from_step">
      ${run.status === 'completed' ? '' : option('', 'Where it left off')}
      ${steps.slice(0, STEPS_SHOWN).map((step) => option(step.key, nameOf(step)))}
    </select>
  </label>`
}

/** Its place, what it was, and what became of it. */
const nameOf = ({ kind, name, path, state }: ListedStep): string =>
  `${kind === 'task' ? name : `${path.slice(0, -1).join(' › ')} › ${name}`} (${kind}, ${state})`
