import type { Context, Hono } from 'hono'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import {
  OVERRIDE_REASON_MAX,
  publishThroughGates,
} from '../../../platform/evaluations/publish-through-gates.ts'
import { findNewestTest } from '../../../platform/projects/draft-tests.ts'
import { listConnectedModels } from '../../../platform/connections/llm-connections.ts'
import { deleteDraft, pinDraft, updateDraft } from '../../../platform/projects/project-versions.ts'
import { compareRuns, findLastRollback, findRelease } from '../../../platform/projects/releases.ts'
import { definitionText, problemsOf } from '../../../platform/projects/proposal-answer.ts'
import type { VersionKey } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { publicationEntry, versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createPins } from '../../intake/tool-pins/create-pins.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { toTexts } from '../frame/start-form.ts'
import { digestOf, FORM_BYTES_MAX, readEdited } from './editor/definition-form.ts'
import { createChoices } from './editor/offers.ts'
import { getOwnVersion, projectPath, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import { knowledgeRoutes } from './knowledge-routes.ts'
import { testRoutes } from './test-routes.ts'
import { readShare, releaseRoutes, undoRelease, withFormer } from './release-routes.ts'
import type { DraftTests } from './test-section.ts'
import { versionPage } from './version-page.ts'
import type { Refuse } from './version-page.ts'
import { createRoom } from '../frame/room.ts'

const ONE = '/projects/:projectId/versions/:number'
const NOTE_LENGTH_MAX = 1000
const REASON_PROBLEM = `Say why, in at most ${OVERRIDE_REASON_MAX} characters.`
const NOTE_PROBLEM = `The note must have at most ${NOTE_LENGTH_MAX} characters.`

/** Serves the page of a version, on which drafts are changed, published and deleted. */
export function projectVersionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {}, FORM_BYTES_MAX)
  const choicesOf = createChoices(deps)

  const readPage = async (
    c: Context<SignedIn>,
    { project, version, key }: OwnVersion,
    sent?: string,
  ) => ({
    session: c.var.session,
    project,
    version,
    base: version.number,
    models: await listConnectedModels(sql, c.var.session.user.organizationId),
    tests: await readTests(sql, key),
    choices: await choicesOf(c, sent),
    ...(await readRelease(sql, key, version)),
  })

  const refuse: Refuse = async (c, own, { status, ...refused }) =>
    c.html(versionPage({ ...(await readPage(c, own, refused.text)), refused }), status ?? 422)

  room.page('viewer', ONE, async (c) => {
    const own = await getOwnVersion(c, sql)
    const done = { notice: c.var.notice, undo: undoRelease(c, own) }
    return c.html(versionPage({ ...(await readPage(c, own)), ...done }))
  })

  room.page('viewer', `${ONE}/definition`, async (c) => {
    const { project, version } = await getOwnVersion(c, sql)
    return c.body(definitionText(version.definition), 200, {
      'content-type': 'application/json',
      'content-disposition': `attachment; filename="project-${project.id}-v${version.number}.json"`,
    })
  })

  room.routes.route('/', draftRoutes(deps, refuse))
  room.routes.route('/', knowledgeRoutes(deps, refuse))
  room.routes.route('/', publishRoutes(deps, refuse))
  room.routes.route('/', releaseRoutes(deps))
  room.routes.route(
    '/',
    testRoutes(deps, async (c, own, tests) => {
      const page = await readPage(c, own)
      return c.html(versionPage({ ...page, tests: { ...page.tests, ...tests } }), 422)
    }),
  )
  return room.routes
}

/** What is released; the runs of both versions where they are shown, which is not for drafts. */
async function readRelease(sql: Database, key: VersionKey, { publishedAt }: OwnVersion['version']) {
  const release = await findRelease(sql, key)
  if (publishedAt === null) return { release, compared: [] }
  const compared = await compareRuns(sql, key, release)
  return { release, compared, lastRollback: await findLastRollback(sql, key) }
}

/** The next test begins with the inputs of the newest one. */
async function readTests(sql: Database, key: VersionKey): Promise<DraftTests> {
  const newest = await findNewestTest(sql, key)
  return newest ? { newest, texts: toTexts(newest.inputs) } : {}
}

/** Saves and deletes drafts. */
function draftRoutes(deps: WebDeps, refuse: Refuse): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(
    deps,
    {
      'draft-saved': 'The draft is saved.',
      'draft-deleted': 'The draft is deleted.',
    },
    FORM_BYTES_MAX,
  )

  room.form('editor', ONE, async (c) => {
    const own = await getOwnVersion(c, sql)
    const { text, read, isUnsaved } = readEdited(c, own.version)
    const problems = 'problems' in read ? read.problems : []
    if (isUnsaved) return refuse(c, own, { text, problems, isUnsaved, status: 200 })
    if ('problems' in read) return refuse(c, own, { text, problems })
    const { definition } = own.version
    const isDraft = own.version.publishedAt === null
    if (isDraft && isOther(c.var.form.get('since'), definition)) {
      return refuse(c, own, { text, problems, isStale: true, status: 409 })
    }
    await audited(
      c.var,
      (tx) => updateDraft(tx, own.key, { definition: read.definition, since: definition }),
      versionEntry('version_changed', own.key),
    )
    return c.redirect(`${versionPath(own.project, own.version.number)}?notice=draft-saved`, 303)
  })

  room.page('editor', `${ONE}/delete`, async (c) => {
    const { project, version } = await getOwnVersion(c, sql)
    const back = versionPath(project, version.number)
    const page = {
      current: '/projects',
      crumbs: [
        { path: '/projects', name: 'Projects' },
        { path: projectPath(project), name: project.name },
        { path: back, name: `Version ${version.number}` },
      ],
      question: `Delete the draft ${version.number}?`,
      consequence: 'Its definition is gone; export it first if you may need it again.',
      action: `${back}/delete`,
      verb: 'Delete the draft',
      back,
    }
    return c.html(confirmPage({ session: c.var.session, ...page }))
  })

  room.form('editor', `${ONE}/delete`, async (c) => {
    const { project, key } = await getOwnVersion(c, sql)
    await audited(c.var, (tx) => deleteDraft(tx, key), versionEntry('version_deleted', key))
    return c.redirect(`${projectPath(project)}?notice=draft-deleted`, 303)
  })

  return room.routes
}

/** Publishes drafts, with a note for others. */
function publishRoutes(deps: WebDeps, refuse: Refuse): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(
    deps,
    {
      'version-published':
        'The version is published. The automations of the project run it from the next run on.',
      'version-shared':
        'The version is published. It takes the share of the calls that is said here.',
    },
    FORM_BYTES_MAX,
  )
  const pinOf = createPins(deps)

  async function publish(c: Context<SignedIn>, override?: string): Promise<Response> {
    const own = await getOwnVersion(c, sql)
    const { number } = own.version
    const share = readShare(c)
    const { running } = await findRelease(sql, own.key)
    const note = (c.var.form.get('note') ?? '').replaceAll('\r\n', '\n').trim()
    if (note.length > NOTE_LENGTH_MAX) return refuse(c, own, { problems: [NOTE_PROBLEM] })
    if (isOther(c.var.form.get('since'), own.version.definition)) {
      const problem = 'The draft was changed since you opened it. Look at it, and publish it again.'
      return refuse(c, own, { problems: [problem], status: 409 })
    }
    try {
      const draft = await pinDraft(sql, own.key, pinOf(own.key.organizationId))
      const how = { note: note === '' ? null : note, share, createdBy: c.var.actor.name }
      const published = await audited(
        c.var,
        (tx) => publishThroughGates(tx, draft, { ...how, override }),
        (result) => publicationEntry(own.key, result, override),
      )
      if ('verdicts' in published) {
        return refuse(c, own, { problems: [], verdicts: published.verdicts, status: 409 })
      }
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'unprocessable') throw thrown
      return refuse(c, own, { problems: problemsOf(thrown) })
    }
    const isShared = running !== null && share.percent < 100
    const notice = withFormer(isShared ? 'version-shared' : 'version-published', running)
    return c.redirect(`${versionPath(own.project, number)}?notice=${notice}`, 303)
  }

  room.form('editor', `${ONE}/publish`, (c) => publish(c))

  room.form('admin', `${ONE}/publish/override`, async (c) => {
    const reason = (c.var.form.get('reason') ?? '').trim()
    if (reason !== '' && reason.length <= OVERRIDE_REASON_MAX) return publish(c, reason)
    return refuse(c, await getOwnVersion(c, sql), { problems: [REASON_PROBLEM] })
  })

  return room.routes
}

/** Returns true for a form that was opened on another definition than the stored one. */
const isOther = (since: string | null, definition: CrewDefinition): boolean =>
  since !== null && since !== '' && since !== digestOf(definition)
