import { findVersion, updateDraft } from '../../../platform/projects/project-versions.ts'
import { fileTooLarge, FILE_BYTES_MAX } from '../../../platform/runs/input-files.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { WebDeps } from '../../context.ts'
import { addKnowledge } from '../../intake/knowledge/add-knowledge.ts'
import type { ApiRoom } from '../api-room.ts'
import { operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { readNumber } from './requests.ts'

const PATH = '/projects/:projectId/versions/:number/knowledge'

const added = s.document('AddedKnowledge', {
  knowledge: s.list(
    s.closed({
      name: s.text,
      characters: s.integer,
      extent: s.perhapsText,
      description: s.perhapsText,
      files: s.list(s.text),
    }),
  ),
  left_out: s.say(s.list(s.text), 'Files of skills that no agent can read.'),
})
const add = operation(
  'addKnowledge',
  'Add a text, a document or skills to the knowledge of a draft',
  {
    description:
      'Text in UTF-8, PDF, DOCX, XLSX, PPTX, ODT, ODS and ODP of up to 20 MiB, or a ZIP archive ' +
      'of skills, each a folder with a SKILL.md. It takes the place of what has the same name.',
    parameters: [
      s.parameter('name', 'query', {
        description: 'The name of the file: its knowledge is named after it.',
        required: true,
      }),
      s.parameter('agents', 'query', {
        description: 'The keys of the agents that know it, by commas; all without it.',
      }),
    ],
    body: { content: { 'application/octet-stream': s.file } },
    200: ['It is added.', added],
    400: 'The file has no name, or is an archive that cannot be read.',
    409: 'The version is published, or was changed meanwhile.',
    413: 'The file has more than 20 MiB, or its archive unpacks to more.',
    422: 'The file cannot be read as text, or the version has too much knowledge.',
  },
)

/** Takes texts, documents and skills as knowledge of drafts. */
export function designerKnowledgeRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql, takeKnowledge } = deps
  const audited = createAudited(sql)

  api.post('editor', [PATH, add], async (c) => {
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
}

async function readFile(request: Request, name: string | undefined): Promise<SentContent> {
  if (!name) {
    throw new AppError('invalid_request', 'Name the file: …/knowledge?name=handbook.pdf.')
  }
  if (Number(request.headers.get('content-length') ?? 0) > FILE_BYTES_MAX) throw fileTooLarge()
  const content = await readBody(request, FILE_BYTES_MAX)
  return { name: name.slice(0, 255), declared: mediaType(request), chunks: [content] }
}
