import * as v from 'valibot'
import { createApi } from '../resources/api.ts'
import type { Api } from '../resources/api.ts'
import type { Output } from '../resources/apply-files.ts'
import { follow, whileReachable } from '../resources/follow.ts'
import type { ReplayRequest } from './options.ts'

const DIFFERENT = 2
const UNREACHABLE = 3
const IMPOSSIBLE = 4
/** The runs that differ whose requests are printed, and the changed lines of each. */
const SHOWN_MAX = 5
const LINES_MAX = 40

const replay = v.looseObject({
  id: v.string(),
  version: v.number(),
  runs: v.number(),
  waiting: v.number(),
  equal: v.number(),
  different: v.number(),
  impossible: v.number(),
})
type Replay = v.InferOutput<typeof replay>
const replayedRuns = v.object({
  runs: v.array(
    v.looseObject({ kickoff_id: v.string(), state: v.string(), reason: v.nullable(v.string()) }),
  ),
})
const outcome = v.looseObject({ request_diff: v.nullable(v.string()) })

/** Starts a replay, follows it to its end, prints what was found, and returns the exit code. */
export async function replayRuns(request: ReplayRequest, output: Output): Promise<number> {
  const api = createApi(request)
  return whileReachable(UNREACHABLE, output, async () => {
    const done = await follow(followed(api, request), output)
    if (done.waiting > 0) {
      output.problem(`It is not done within ${request.timeoutMs / 1000} s: ${countsOf(done)}.\n`)
      return UNREACHABLE
    }
    const { runs } = v.parse(replayedRuns, await api(`/designer/v2/replays/${done.id}/runs`))
    if (request.json) output.result(`${JSON.stringify({ replay: done, runs }, null, 2)}\n`)
    else output.result(await describe(api, done, runs))
    if (done.different > 0) return DIFFERENT
    return done.equal === done.runs ? 0 : IMPOSSIBLE
  })
}

function followed(api: Api, { automationId, fields, timeoutMs }: ReplayRequest) {
  const path = `/designer/v2/automations/${automationId}/replays`
  return {
    start: async () => v.parse(replay, await api(path, { method: 'POST', json: fields })),
    again: async ({ id }: Replay) => v.parse(replay, await api(`${path}/${id}`)),
    isDone: ({ waiting }: Replay) => waiting === 0,
    progressOf: countsOf,
    timeoutMs,
  }
}

const countsOf = ({ runs, waiting, equal, different, impossible }: Replay): string =>
  `${runs - waiting} of ${runs} done: ${equal} equal, ${different} different, ` +
  `${impossible} not possible`

async function describe(
  api: Api,
  { id, version, ...counts }: Replay,
  runs: v.InferOutput<typeof replayedRuns>['runs'],
): Promise<string> {
  const lines = [`Version ${version}: ${countsOf({ id, version, ...counts })}`]
  const notable = runs.filter(({ state }) => state !== 'equal')
  for (const [index, { kickoff_id: run, state, reason }] of notable.entries()) {
    lines.push('', `${state}  ${run}  ${reason ?? ''}`)
    if (state !== 'different' || index >= SHOWN_MAX) continue
    const found = v.parse(outcome, await api(`/designer/v2/replays/${id}/runs/${run}`))
    const changed = (found.request_diff ?? '').split('\n').filter((line) => /^[-+] /.test(line))
    lines.push(...changed.slice(0, LINES_MAX).map((line) => `    ${line}`))
    const left = changed.length - LINES_MAX
    if (left > 0) lines.push(`    … ${left} more lines`)
  }
  return `${lines.join('\n')}\n`
}
