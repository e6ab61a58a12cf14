import type { Context } from 'hono'
import * as v from 'valibot'
import { getRepository } from '../../../platform/crews/source-repositories.ts'
import {
  REPOSITORY_DIRECTORY_MAX,
  REPOSITORY_REF,
  REPOSITORY_REF_MAX,
  REPOSITORY_TOKEN,
  REPOSITORY_TOKEN_MAX,
  REPOSITORY_URL_MAX,
  repositoryDirectoryProblem,
  repositoryRefProblem,
  repositoryTokenProblem,
  repositoryUrlProblem,
} from '../../../platform/crews/source-repository-fields.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { checked } from '../../http/parse-body.ts'
import { createRepositoryChanges, webhookUrlOf } from './change-repository.ts'
import { repositoryDocument } from './documents.ts'
import { jsonBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { BODY_BYTES_MAX, changing, getOwnCrew, operation } from './own-crew.ts'
import type { OwnCrew } from './own-crew.ts'

const ref = { pattern: REPOSITORY_REF.source, maxLength: REPOSITORY_REF_MAX }
const token = {
  pattern: REPOSITORY_TOKEN.source,
  maxLength: REPOSITORY_TOKEN_MAX,
  description:
    'An access token, or name:token where the server asks for a name. Null: none. Left out: the ' +
    'one that is there, unless the host is another now.',
}
const repositoryBody = jsonBody(
  'CrewRepositoryRequest',
  v.strictObject({
    url: checked(repositoryUrlProblem, { maxLength: REPOSITORY_URL_MAX }),
    ref: checked(repositoryRefProblem, ref),
    directory: v.optional(
      v.nullable(checked(repositoryDirectoryProblem, { maxLength: REPOSITORY_DIRECTORY_MAX })),
      null,
    ),
    token: v.optional(v.nullable(checked(repositoryTokenProblem, token))),
  }),
  { example: { url: 'https://github.com/acme/crew.git', ref: 'main' }, bytesMax: BODY_BYTES_MAX },
)
const webhook = s.document('CrewRepositoryWebhook', {
  url: s.text,
  secret: s.say(s.text, 'Shown this once.'),
})

const get = operation('getRepository', 'The Git repository of an automation', {
  200: repositoryDocument,
})
const save = changing('saveRepository', 'Save the Git repository that an automation is made from', {
  body: repositoryBody,
  200: ['It is saved.', repositoryDocument],
})
const remove = changing('removeRepository', 'Remove the repository with its secrets', {
  204: 'It is removed.',
})
const pull = changing('pullRepository', 'Pull the repository, and deploy what is new in it', {
  202: repositoryDocument,
})
const makeSecret = changing(
  'createRepositoryWebhook',
  'Give the webhook of a repository a new secret',
  { 201: ['The former secret signs no more.', webhook] },
)
const removeSecret = changing('removeRepositoryWebhook', 'Accept no more pushes', {
  204: 'It is removed.',
})

/** The Git repositories that automations are made from. */
export function repositoryRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const changes = createRepositoryChanges(deps)
  const path = '/automations/:automationId/repository'
  const answer = async (c: Context<OrganizationCall>, crew: OwnCrew, status: 200 | 202) => {
    const repository = await getRepository(sql, crew)
    const shown = { ...repository, webhookUrl: webhookUrlOf(deps, crew) }
    return c.json(repositoryDocument.of(shown), status)
  }

  api.get('viewer', [path, get], async (c) => answer(c, await getOwnCrew(c, sql), 200))
  api.put('editor', [path, save], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { token: given, ...place } = await repositoryBody.read(c)
    await changes.save(c.var, crew, { ...place, token: given })
    return answer(c, crew, 200)
  })
  api.delete('editor', [path, remove], async (c) => {
    await changes.remove(c.var, await getOwnCrew(c, sql))
    return c.body(null, 204)
  })

  api.post('editor', [`${path}/pull`, pull], async (c) => {
    const crew = await getOwnCrew(c, sql)
    await changes.pull(c.var, crew)
    return answer(c, crew, 202)
  })

  api.post('editor', [`${path}/webhook`, makeSecret], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const secret = await changes.makeSecret(c.var, crew)
    return c.json({ url: webhookUrlOf(deps, crew), secret }, 201, { 'cache-control': 'no-store' })
  })
  api.delete('editor', [`${path}/webhook`, removeSecret], async (c) => {
    await changes.removeSecret(c.var, await getOwnCrew(c, sql))
    return c.body(null, 204)
  })
}
