import type { Context } from 'hono'
import { STEP_KINDS } from '../../../platform/crew-contract/step-key.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { listReplayedRuns } from '../../../platform/replays/replay-results.ts'
import type { ReplayedOutcome, ReplayedRun } from '../../../platform/replays/replay-results.ts'
import { isReplayOf } from '../../../platform/replays/replays.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { diffLines } from '../../console/frame/text/line-diff.ts'
import { requestText } from '../../console/replays/request-text.ts'
import { getReplayedRun } from '../../console/replays/routes.ts'
import * as s from '../openapi/parts.ts'
import { operation } from '../openapi/operation.ts'
import { usageDocument } from './model-call-routes.ts'

const PATH = '/replays/:replayId/runs'

const step = { kind: s.words(STEP_KINDS), name: s.text, path: s.list(s.text) }
const runFields = {
  kickoff_id: s.uuid,
  state: s.words(['waiting', 'equal', 'different', 'impossible']),
  recorded_version: s.say(s.nullable('integer'), 'Null: the draft that a test ran.'),
  reason: s.say(s.perhapsText, 'Why it differs, or cannot be replayed.'),
  step: s.orNull(s.closed(step), 'The first step that differs.'),
  duration_ms: s.nullable('integer'),
  recorded_duration_ms: s.nullable('integer'),
  usage: s.orNull(
    s.closed(s.tokens),
    'What its answers took when they were recorded or, in a live replay, asked.',
  ),
  asked_tokens: s.say(s.nullable('integer'), 'Of models that were asked; null: none was.'),
  usd: s.say(s.nullable('number'), 'What these cost; null: nothing, or a model has no price.'),
  recorded_usage: s.orNull(s.closed(s.tokens)),
  recorded_usd: s.say(
    s.nullable('number'),
    'What the models of the recorded run cost on its day; null: a model has no price.',
  ),
}
const toRun = (run: ReplayedRun) => ({
  ...run,
  kickoffId: run.runId,
  recordedVersion: run.version,
  step: run.step && s.pickOf(step)(run.step),
  durationMs: run.ms,
  recordedDurationMs: run.recordedMs,
  usage: usageDocument(run.usage),
  recordedUsage: run.recordedUsage && s.tokensOf(run.recordedUsage),
})
const runDocument = s.document('ReplayedRun', runFields, toRun)
const outcomeDocument = s.document(
  'ReplayedOutcome',
  {
    ...runFields,
    request: { description: 'What the step asks; null: nothing.' },
    recorded_request: { description: 'What it asked in the record; null: nothing.' },
    request_diff: s.say(s.perhapsText, 'Both as text, with `- ` and `+ `.'),
    output: s.perhapsText,
    recorded_output: s.perhapsText,
    recorded_error: s.orNull(s.closed({ code: s.text, message: s.text })),
  },
  (outcome: ReplayedOutcome) => ({
    ...toRun(outcome),
    request: outcome.request ?? null,
    recordedRequest: outcome.recordedRequest ?? null,
    requestDiff: outcome.step ? diffOf(outcome) : null,
    output: outcome.output,
    recordedOutput: outcome.recorded.output,
    recordedError: outcome.recorded.error,
  }),
)
const runs = s.document('ReplayedRuns', { runs: s.list(runDocument) })

const list = operation('listReplayedRuns', 'The runs of a replay: those that differ first', {
  200: ['All of them.', runs],
})
const get = operation(
  'getReplayedRun',
  'A run of a replay: the first step that differs, and both outputs',
  { 200: outcomeDocument },
)

/** What became of the runs of a replay, beside the routes of its resource. */
export function designerReplayRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  api.get('viewer', [PATH, list], async (c) => {
    const found = await listReplayedRuns(sql, await readReplayId(c, sql), deps.prices)
    return c.json({ runs: found.map(runDocument.of) })
  })
  api.get('viewer', [`${PATH}/:kickoffId`, get], async (c) => {
    const replayId = await readReplayId(c, sql)
    return c.json(
      outcomeDocument.of(await getReplayedRun(deps, replayId, c.req.param('kickoffId') ?? '')),
    )
  })
}

async function readReplayId(c: Context<OrganizationCall>, sql: Database): Promise<string> {
  const { organizationId } = c.var.caller
  const id = c.req.param('replayId') ?? ''
  if (isUuid(id) && (await isReplayOf(sql, { id, organizationId }))) return id
  throw new AppError('not_found', 'Your organization has no such replay.')
}

const SIGNS = { same: '  ', removed: '- ', added: '+ ' } as const

const diffOf = ({ recordedRequest, request }: ReplayedOutcome): string =>
  diffLines(requestText(recordedRequest), requestText(request))
    .map(({ kind, text: line }) => SIGNS[kind] + line)
    .join('\n')
