import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import { getRepository } from '../../../platform/crews/source-repositories.ts'
import {
  repositoryDirectoryProblem,
  repositoryRefProblem,
  repositoryTokenProblem,
  repositoryUrlProblem,
} from '../../../platform/crews/source-repository-fields.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { checked } from '../../http/parse-body.ts'
import { createRepositoryChanges, webhookUrlOf } from './change-repository.ts'
import { repositoryDocument } from './documents.ts'
import { getOwnCrew, readBodyAs } from './own-crew.ts'
import type { OwnCrew } from './own-crew.ts'

const repositoryBody = v.strictObject({
  url: checked(repositoryUrlProblem),
  ref: checked(repositoryRefProblem),
  directory: v.optional(v.nullable(checked(repositoryDirectoryProblem)), null),
  token: v.optional(v.nullable(checked(repositoryTokenProblem))),
})

/** The Git repositories that automations are made from. */
export function repositoryRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const changes = createRepositoryChanges(deps)
  const path = '/automations/:automationId/repository'
  const answer = async (c: Context<OrganizationCall>, crew: OwnCrew, status: 200 | 202) => {
    const repository = await getRepository(sql, crew)
    return c.json(repositoryDocument(repository, webhookUrlOf(deps, crew)), status)
  }

  api.get('viewer', path, async (c) => answer(c, await getOwnCrew(c, sql), 200))
  api.put('editor', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { url, ref, directory, token } = await readBodyAs(c, repositoryBody)
    await changes.save(c.var, crew, { url, ref, directory, token })
    return answer(c, crew, 200)
  })
  api.delete('editor', path, async (c) => {
    await changes.remove(c.var, await getOwnCrew(c, sql))
    return c.body(null, 204)
  })

  api.post('editor', `${path}/pull`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await changes.pull(c.var, crew)
    return answer(c, crew, 202)
  })

  api.post('editor', `${path}/webhook`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const secret = await changes.makeSecret(c.var, crew)
    return c.json({ url: webhookUrlOf(deps, crew), secret }, 201, { 'cache-control': 'no-store' })
  })
  api.delete('editor', `${path}/webhook`, async (c) => {
    await changes.removeSecret(c.var, await getOwnCrew(c, sql))
    return c.body(null, 204)
  })
  return api.routes()
}
