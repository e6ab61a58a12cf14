import type { Context, Hono } from 'hono'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import { listConnectedModels } from '../../../platform/connections/llm-connections.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import {
  acceptProposal,
  discardProposal,
  findProposal,
  settleProposal,
} from '../../../platform/projects/proposals.ts'
import type { Proposal, ProposalKey } from '../../../platform/projects/proposals.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { findNamedVersion, getOwnProject, projectPath, versionPath } from './own-project.ts'
import { proposalPage, proposalParts } from './proposal-page.ts'
import type { ProposalPage } from './proposal-page.ts'
import { createRoom } from '../frame/room.ts'

interface OwnProposal {
  readonly project: Project
  readonly proposal: Proposal
  readonly key: ProposalKey
}

/** Serves what the Assistant proposes, and takes what people decide about it. */
export function proposalRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'proposal-discarded': 'The proposal is discarded.',
  })
  const one = '/projects/:projectId/proposals/:proposalId'

  room.page('viewer', one, async (c) => c.html(proposalPage(await readPage(c, sql))))

  room.page('viewer', `${one}/live`, async (c) => {
    const page = await readPage(c, sql)
    const { proposal, run } = page
    const etag = `W/"${[proposal.state, run?.id, run?.status].join('.')}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(proposalParts(page), 200, { etag })
  })

  room.page('viewer', `${one}/definition`, async (c) => {
    const { proposal } = await getOwn(c, sql)
    if (!proposal.definition) throw new AppError('not_found', 'There is no definition yet.')
    return c.body(definitionText(proposal.definition), 200, {
      'content-type': 'application/json',
      'content-disposition': `attachment; filename="proposal-${proposal.id}.json"`,
    })
  })

  room.form('editor', `${one}/accept`, async (c) => {
    const { project, key } = await getOwn(c, sql)
    const number = await audited(
      c.var,
      (tx) => acceptProposal(tx, key),
      (added) => ({ ...entryOf('proposal_accepted', key), after: { version: added } }),
    )
    return c.redirect(`${versionPath(project, number)}?notice=draft-added`, 303)
  })

  room.form('editor', `${one}/discard`, async (c) => {
    const { project, key } = await getOwn(c, sql)
    await audited(c.var, (tx) => discardProposal(tx, key), entryOf('proposal_discarded', key))
    return c.redirect(`${projectPath(project)}?notice=proposal-discarded`, 303)
  })

  return room.routes
}

const entryOf = (action: string, { id }: ProposalKey): AuditEntry => ({
  action,
  target: { kind: 'proposal', id },
})

async function getOwn(c: Context<SignedIn>, sql: Database): Promise<OwnProposal> {
  const project = await getOwnProject(c, sql)
  const { organizationId } = c.var.session.user
  const key = { organizationId, projectId: project.id, id: c.req.param('proposalId') ?? '' }
  const proposal = await findProposal(sql, key)
  if (proposal) return { project, proposal, key }
  throw new AppError('not_found', 'This project has no such proposal, or no longer.')
}

/** Whoever looks at a proposal reads the answer of a run that is over. */
async function readPage(c: Context<SignedIn>, sql: Database): Promise<ProposalPage> {
  const { project, proposal: found } = await getOwn(c, sql)
  const { organizationId } = c.var.session.user
  const { proposal, run } = await settleProposal(sql, found)
  const number = String(proposal.baseNumber ?? '')
  return {
    session: c.var.session,
    project,
    proposal,
    run,
    base: project.lastVersion || undefined,
    baseVersion: await findNamedVersion(sql, { organizationId, project }, number),
    models: await listConnectedModels(sql, organizationId),
    notice: c.var.notice,
  }
}
