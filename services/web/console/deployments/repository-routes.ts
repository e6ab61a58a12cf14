import type { Context, Hono } from 'hono'
import { findRepository, getRepository } from '../../../platform/crews/source-repositories.ts'
import {
  repositoryDirectoryProblem,
  repositoryRefProblem,
  repositoryTokenProblem,
  repositoryUrlProblem,
} from '../../../platform/crews/source-repository-fields.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createRepositoryChanges, webhookUrlOf } from '../../api/crews/change-repository.ts'
import type { GivenRepository } from '../../api/crews/change-repository.ts'
import { managedBox } from '../../managed/marks.ts'
import { automationPath, getOwnCrew } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { pullSection, repositoryPage } from './repository-page.ts'
import type { TypedRepository } from './repository-page.ts'
import { createRoom } from '../frame/room.ts'

const PATH = '/automations/:automationId/crew-repository'

/** Serves the page with the Git repository of an automation. */
export function repositoryPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'repository-saved': 'The repository is saved. Pull it to deploy its project.',
    'repository-pull': 'The repository is being pulled. The result appears here.',
    'repository-removed': 'The repository is removed with its secrets. What is deployed stays.',
    'repository-webhook-removed': 'The webhook is removed. Pushes are refused from now on.',
  })
  const changes = createRepositoryChanges(deps)
  const show = createShow(deps, sql)
  const back = (c: Context<SignedIn>, { automation }: OwnCrew, notice: string) =>
    c.redirect(`${automationPath(automation)}/crew-repository?notice=${notice}`, 303)

  room.page('viewer', PATH, async (c) => show(c, await getOwnCrew(c, sql)))

  room.page('viewer', `${PATH}/live`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const repository = await getRepository(sql, crew)
    const { isPulling, pulledAt, failedAt } = repository
    const etag = `W/"${[isPulling, pulledAt?.getTime(), failedAt?.getTime()].join('.')}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(pullSection({ session: c.var.session, crew }, repository), 200, { etag })
  })

  room.form('editor', PATH, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { typed, given, problem } = readRepositoryForm(c.var.form)
    if (problem !== undefined) return show(c, crew, { typed, problem })
    await changes.save(c.var, crew, given)
    return back(c, crew, 'repository-saved')
  })
  room.form('editor', `${PATH}/pull`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await changes.pull(c.var, crew)
    return back(c, crew, 'repository-pull')
  })
  room.form('editor', `${PATH}/webhook`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    return show(c, crew, { secret: await changes.makeSecret(c.var, crew) })
  })
  room.form('editor', `${PATH}/webhook/delete`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await changes.removeSecret(c.var, crew)
    return back(c, crew, 'repository-webhook-removed')
  })
  room.form('editor', `${PATH}/delete`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await changes.remove(c.var, crew)
    return back(c, crew, 'repository-removed')
  })
  return room.routes
}

interface Shown {
  readonly typed?: TypedRepository
  readonly problem?: string
  readonly secret?: string
}

function createShow(deps: WebDeps, sql: Database) {
  return async (c: Context<SignedIn>, crew: OwnCrew, shown: Shown = {}): Promise<Response> => {
    const repository = await findRepository(sql, crew)
    const { session, notice } = c.var
    const managed = await managedBox('git_source', { sql, session }, [crew.automation.automationId])
    const webhookUrl = webhookUrlOf(deps, crew)
    c.header('cache-control', 'no-store')
    const view = { session, crew, repository, managed, notice, webhookUrl, ...shown }
    return c.html(repositoryPage(view), shown.problem === undefined ? 200 : 422)
  }
}

interface ReadForm {
  readonly typed: TypedRepository
  readonly given: GivenRepository
  readonly problem: string | undefined
}

/** A token that is left empty stays as it is; it is removed by its box. */
function readRepositoryForm(form: URLSearchParams): ReadForm {
  const read = (name: string): string => (form.get(name) ?? '').trim()
  const typed = { url: read('url'), ref: read('ref'), directory: read('directory') }
  const directory = typed.directory.replace(/^(\.\/)+|\/+$/g, '') || null
  const entered = read('token') || undefined
  const token = form.get('no_token') === 'yes' ? null : entered
  const problem = [
    say('The address', repositoryUrlProblem(typed.url)),
    say('The branch or tag', repositoryRefProblem(typed.ref)),
    directory === null ? undefined : say('The folder', repositoryDirectoryProblem(directory)),
    token ? say('The access token', repositoryTokenProblem(token)) : undefined,
  ].find((each) => each !== undefined)
  return { typed, given: { ...typed, directory, token }, problem }
}

const say = (what: string, problem: string | undefined): string | undefined =>
  problem && `${what} ${problem}.`
