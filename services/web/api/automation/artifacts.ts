import { findArtifact, listArtifacts } from '../../../platform/runs/run-artifacts.ts'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import { AppError } from '../../../shared/errors.ts'
import { sendFile } from '../../http/send-file.ts'
import type { ApiRoute } from './api-route.ts'
import * as s from '../openapi/parts.ts'
import { noKickoff, reading } from './api-route.ts'
import { automationUrl } from './automation-urls.ts'
import { getRun } from './get-run.ts'

const artifactDocument = s.document(
  'Artifact',
  {
    name: s.text,
    task: s.say(s.text, 'The key of the task that wrote it.'),
    size: s.say(s.integer, 'In bytes.'),
    left_out_characters: s.say(s.integer, 'What was beyond the 1 MiB that is kept; 0: none.'),
    created_at: s.moment,
    url: { ...s.text, format: 'uri' },
  },
  (artifact: Artifact & { readonly url: string }) => ({
    ...artifact,
    leftOutCharacters: artifact.leftOut,
    url: `${artifact.url}/${encodeURIComponent(artifact.name)}`,
  }),
)
const artifactList = s.closed({ kickoff_id: s.uuid, artifacts: s.list(artifactDocument) })

/** Lists the files that the tasks of a run wrote. */
export const artifactsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/artifacts',
  operation: reading('artifacts', 'List the files that the tasks of a run wrote', {
    description: 'Those of tasks with an `output_file`, as soon as the task is done.',
    200: ['The files.', s.named('Artifacts', artifactList)],
    ...noKickoff,
  }),
  async answer(c, { sql, config }) {
    const { id } = await getRun(c, sql)
    const url = `${automationUrl(config, c.var.automation.automationId)}/runs/${id}/artifacts`
    const artifacts = (await listArtifacts(sql, id)).map((each) =>
      artifactDocument.of({ ...each, url }),
    )
    return c.json({ kickoff_id: id, artifacts })
  },
}

/** Sends one of these files. */
export const artifactRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/artifacts/:name',
  operation: reading('artifact', 'Read a file that a task of a run wrote', {
    description: 'Always as a file to save, in UTF-8.',
    200: {
      description: 'Its content; the type is that of its extension, for a few.',
      headers: { 'Content-Disposition': s.header('attachment, with the name.') },
      content: {
        'text/plain': { schema: s.text },
        'text/csv': { schema: s.text },
        'text/markdown': { schema: s.text },
        'application/json': { schema: {} },
      },
    },
    404: 'This automation has no such kickoff, or the run wrote no such file.',
  }),
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    const found = await findArtifact(sql, id, c.req.param('name') ?? '')
    if (found) return sendFile(c, found)
    throw new AppError('not_found', 'This run wrote no such file.')
  },
}
