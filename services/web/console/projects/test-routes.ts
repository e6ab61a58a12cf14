import type { Hono } from 'hono'
import { createRoom } from '../frame/room.ts'
import type { Context } from 'hono'
import { prepareDraftTest } from '../../../platform/projects/draft-tests.ts'
import type { DraftTest } from '../../../platform/projects/draft-tests.ts'
import { problemsOf } from '../../../platform/projects/proposal-answer.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createPins } from '../../intake/tool-pins/create-pins.ts'
import { createRunFormReader } from '../frame/run-form.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { getOwnVersion, requireDesigned, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import type { DraftTests } from './test-section.ts'

/** Answers with the page of the version, and why its test was not started. */
type RefuseTest = (c: Context<SignedIn>, own: OwnVersion, tests: DraftTests) => Promise<Response>

/** Starts runs that test drafts. */
export function testRoutes(deps: WebDeps, refuse: RefuseTest): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const readRunForm = createRunFormReader(deps)
  const pinOf = createPins(deps)

  const prepare = async (own: OwnVersion): Promise<DraftTest> => {
    requireDraft(own)
    const { key, version } = own
    return prepareDraftTest(sql, key, await pinOf(key.organizationId)(version.definition))
  }

  room.upload('editor', '/projects/:projectId/versions/:number/tests', async (c) => {
    const own = await getOwnVersion(c, sql)
    const sent = await readRunForm(c, () => prepare(own)).catch(toProblem)
    if (!('form' in sent) || sent.problem !== undefined) return refuse(c, own, sent)
    const { form, texts, prepared, target } = sent
    const { automation, versionId } = target
    const idempotencyKey = startOnceKey(form.get('start_once'), { ...texts, versionId })
    const starter = toStarter(c.var.actor, 'console')
    const request = { deploymentId: automation.id, ...prepared, versionId, idempotencyKey, starter }
    c.var.wide['kickoff_id'] = await kickoff(sql, request)
    return c.redirect(`${versionPath(own.project, own.version.number)}#test`, 303)
  })

  return room.routes
}

function requireDraft({ project, version }: OwnVersion): void {
  requireDesigned(project)
  if (version.publishedAt === null) return
  throw new AppError('conflict', 'This version is published: start its automation instead.')
}

/** What is wrong with the tools of a draft; they are asked for before a test, as for publishing. */
function toProblem(thrown: unknown): { readonly problem: string } {
  if (!(thrown instanceof AppError) || thrown.code !== 'unprocessable') throw thrown
  return { problem: problemsOf(thrown).join(' ') }
}
