import { findArtifact, listArtifacts } from '../../../platform/runs/run-artifacts.ts'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import { AppError } from '../../../shared/errors.ts'
import { sendFile } from '../../http/send-file.ts'
import type { ApiRoute } from './api-route.ts'
import { automationUrl } from './automation-urls.ts'
import { getRun } from './get-run.ts'

/** Lists the files that the tasks of a run wrote. */
export const artifactsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/artifacts',
  async answer(c, { sql, config }) {
    const { id } = await getRun(c, sql)
    const url = `${automationUrl(config, c.var.automation.automationId)}/runs/${id}/artifacts`
    const artifacts = (await listArtifacts(sql, id)).map((each) => toWire(each, url))
    return c.json({ kickoff_id: id, artifacts })
  },
}

/** Sends one of these files. */
export const artifactRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/artifacts/:name',
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    const found = await findArtifact(sql, id, c.req.param('name') ?? '')
    if (found) return sendFile(c, found)
    throw new AppError('not_found', 'This run wrote no such file.')
  },
}

const toWire = ({ name, task, size, leftOut, createdAt }: Artifact, url: string) => ({
  name,
  task,
  size,
  left_out_characters: leftOut,
  created_at: createdAt,
  url: `${url}/${encodeURIComponent(name)}`,
})
