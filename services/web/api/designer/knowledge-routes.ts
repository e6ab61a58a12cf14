import type { Hono } from 'hono'
import { findVersion, updateDraft } from '../../../platform/projects/project-versions.ts'
import { fileTooLarge, FILE_BYTES_MAX } from '../../../platform/runs/input-files.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { addKnowledge } from '../../intake/knowledge/add-knowledge.ts'
import { createApi } from '../api-room.ts'
import { readNumber } from './requests.ts'

/** Takes texts, documents and skills as knowledge of drafts. */
export function designerKnowledgeRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql, takeKnowledge } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)

  api.post('editor', '/projects/:projectId/versions/:number/knowledge', async (c) => {
    const { organizationId } = c.var.caller
    const [projectId, number] = [readNumber(c, 'projectId'), readNumber(c, 'number')]
    const key = { organizationId, projectId, number }
    const version = await findVersion(sql, key)
    if (!version) throw new AppError('not_found', 'This project has no such version.')
    const agents = c.req.query('agents')?.split(',')
    const { texts, leftOut } = await takeKnowledge(() => readFile(c.req.raw, c.req.query('name')))
    const { definition: since } = version
    const definition = addKnowledge(since, texts, agents)
    await audited(
      c.var,
      (tx) => updateDraft(tx, key, { definition, since }),
      versionEntry('version_changed', key),
    )
    const knowledge = Object.entries(texts).map(([name, { text, extent, description, files }]) => ({
      name,
      characters: text.length,
      extent: extent ?? null,
      description: description ?? null,
      files: Object.keys(files ?? {}),
    }))
    return c.json({ knowledge, left_out: leftOut })
  })

  return api.routes()
}

async function readFile(request: Request, name: string | undefined): Promise<SentContent> {
  if (!name) {
    throw new AppError('invalid_request', 'Name the file: …/knowledge?name=handbook.pdf.')
  }
  if (Number(request.headers.get('content-length') ?? 0) > FILE_BYTES_MAX) throw fileTooLarge()
  const content = await readBody(request, FILE_BYTES_MAX)
  return { name: name.slice(0, 255), declared: mediaType(request), chunks: [content] }
}
