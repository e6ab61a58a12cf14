import { Hono } from 'hono'
import type { Context } from 'hono'
import type { Session } from '../../../platform/people/sessions.ts'
import { createRefusals } from '../../gate/callers/refusals.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { findAdministrator, identify, isAvailable, isCrossSite } from '../access.ts'
import type { Diagnostics } from '../create-diagnostics.ts'
import type { Diagnosis } from '../diagnoses.ts'
import { platformHealthPage, platformHealthStream } from './page.ts'
import { answerNotFound } from '../../http/errors.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

const PATH = '/admin/platform_health'

/**
 * `GET /admin/platform_health`: the diagnostic report for people (SPEC 4.3). Only administrators
 * find anything at this address.
 */
export function platformHealthRoutes(deps: WebDeps, diagnostics: Diagnostics): Hono<WebApp> {
  const { diagnoses, pod } = diagnostics
  const routes = new Hono<WebApp>()
  const recordRefusal = createRefusals(deps)

  routes.get(PATH, declareRight('platform-admin'), async (c) => {
    // First as at /health/debug, so that a refusal looks the same and takes the same time.
    if (!(await identify(c, deps))) {
      recordRefusal(c)
      return answerNotFound(c)
    }
    const session = await findAdministrator(c, deps)
    if (!session) return answerNotFound(c)
    c.set('session', session)
    c.var.wide['user_id'] = session.user.id
    if (!isAvailable(deps.config)) return c.redirect('/?notice=platform-health-unavailable', 303)
    c.header('vary', 'Cookie, Sec-Fetch-Site')
    const past = diagnoses.past()
    if (isCrossSite(c)) return c.html(platformHealthPage({ session, pod, past }))
    c.var.wide['audit'] = 'platform_health'
    if (c.req.query('download') === undefined) return stream(c, session, diagnostics)
    const asked = past.find(({ id }) => id === c.req.query('run'))
    return download(c, asked ?? (await diagnoses.start().done), pod)
  })

  return routes
}

/** Sends the frame of the page at once, and each part of the report when it is ready. */
function stream(c: Context, session: Session, { diagnoses, pod }: Diagnostics): Response {
  const encoder = new TextEncoder()
  let isOpen = true
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (text: string): void => {
        if (isOpen) controller.enqueue(encoder.encode(text))
      }
      const page = await platformHealthStream({ session, pod })
      send(page.begin)
      const diagnosis = diagnoses.start()
      let lines = Promise.resolve()
      diagnosis.onResult((name, result) => {
        lines = lines.then(async () => send(await page.result(name, result)))
      })
      await diagnosis.done
      await lines
      send(await page.end(diagnoses.past()))
      if (isOpen) controller.close()
    },
    cancel() {
      isOpen = false
    },
  })
  // Proxies that gather an answer before they pass it on would hide the progress.
  return c.body(body, 200, {
    'content-type': 'text/html; charset=UTF-8',
    'x-accel-buffering': 'no',
  })
}

function download(c: Context, { report, startedAt }: Diagnosis, pod: string): Response {
  const time = startedAt.toISOString().replace(/[:.]/g, '-')
  const name = `platform-health-${pod.replace(/[^\w.-]/g, '_')}-${time}.json`
  return c.body(`${JSON.stringify(report, null, 2)}\n`, 200, {
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="${name}"`,
  })
}
