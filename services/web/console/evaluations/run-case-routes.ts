import { html } from 'hono/html'
import type { Hono } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listCaseSets } from '../../../platform/evaluations/case-sets.ts'
import type { CaseSet } from '../../../platform/evaluations/case-sets.ts'
import { addRuns } from '../../../platform/evaluations/cases.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { casesEntry } from '../../gate/callers/audit-entries.ts'
import { runPath } from '../frame/addresses.ts'
import { shortId } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { getOwnRunToRepeat } from '../frame/own-automation.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { createRoom } from '../frame/room.ts'

const PATH = '/automations/:automationId/executions/:kickoffId/case'

/** Makes a case of a run, from its page. */
export function runCaseRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const { routes, page, action } = createRoom(deps)

  page('editor', PATH, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const sets = await listCaseSets(sql, automation.id)
    return c.html(casePage({ session: c.var.session, automation, run, sets }))
  })

  action('editor', PATH, {
    async find(c) {
      const { automation, run } = await getOwnRunToRepeat(c, sql)
      const id = c.var.form.get('set') ?? ''
      const set = (await listCaseSets(sql, automation.id)).find((each) => each.id === id)
      if (!set) throw new AppError('unprocessable', 'Choose a set of the automation.')
      const withExpected = c.var.form.has('with_expected')
      return { automation, run, set, withExpected }
    },
    async change(tx, { automation, run, set, withExpected }) {
      const choice = { kickoffIds: [run.id], last: 1, status: 'any', rated: null } as const
      return addRuns(tx, { ...set, deploymentId: automation.id }, { ...choice, withExpected })
    },
    entry: ({ set }, added) => (added > 0 ? casesEntry(set, { added }) : undefined),
    done: ({ automation, set }) => [
      `/automations/${automation.automationId}/case-sets/${set.id}`,
      'cases-added',
    ],
  })

  return routes
}

interface CasePage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly sets: readonly CaseSet[]
}

function casePage({ session, automation, run, sets }: CasePage): Html {
  const back = runPath(automation, run)
  const path = `/automations/${automation.automationId}/case-sets`
  const none = html`<p>The automation has no set of cases. <a href="${path}">Create one</a>.</p>`
  return frame(
    { title: 'Make a case of a run', session, current: '/executions' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${back}">Run ${shortId(run.id)}</a>
      </nav>
      <div class="page-head"><h1>Make a case of this run</h1></div>
      <section class="card narrow" aria-label="Case">
        ${sets.length === 0 ? none : caseForm(sets, { back, session })}
      </section>`,
  )
}

const caseForm = (
  sets: readonly CaseSet[],
  { back, session }: { readonly back: string; readonly session: Session },
): Html =>
  html`<form method="post" action="${back}/case" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Set
      <select name="set">
        ${sets.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
      </select>
    </label>
    <label class="tick">
      <input type="checkbox" name="with_expected" value="yes" /> Its output is what is expected
    </label>
    <div class="buttons">
      <button class="button primary">Add the case</button>
      <a class="button" href="${back}">Cancel</a>
    </div>
  </form>`
