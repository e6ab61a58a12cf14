import * as v from 'valibot'
import { createApi } from '../resources/api.ts'
import type { Api } from '../resources/api.ts'
import type { Output } from '../resources/apply-files.ts'
import { follow, whileReachable } from '../resources/follow.ts'
import type { EvaluateRequest } from './options.ts'

const TOO_FEW = 2
const UNREACHABLE = 3
const GIVEN_UP = 4
/** The cases that became worse, and the runs that did not pass, which are printed. */
const SHOWN_MAX = 20

const estimate = v.object({ value: v.number(), low: v.number(), high: v.number() })
const side = v.looseObject({
  cases: v.number(),
  passed: v.number(),
  flaky: v.number(),
  errors: v.number(),
  share: estimate,
  tokens: v.number(),
  usd: v.nullable(v.number()),
})
const evaluation = v.looseObject({
  id: v.string(),
  version: v.number(),
  against: v.nullable(v.number()),
  runs: v.number(),
  waiting: v.number(),
  finished_at: v.nullable(v.string()),
  given_up: v.nullable(v.string()),
  scores: v.nullable(
    v.looseObject({
      version: side,
      against: v.nullable(side),
      difference: v.nullable(
        v.looseObject({ better: v.number(), worse: v.number(), share: estimate }),
      ),
    }),
  ),
})
type Evaluation = v.InferOutput<typeof evaluation>
type Scores = NonNullable<Evaluation['scores']>
const changes = v.object({
  changes: v.array(
    v.looseObject({ case_id: v.string(), change: v.string(), reason: v.nullable(v.string()) }),
  ),
})
const runs = v.looseObject({
  runs: v.array(
    v.looseObject({
      case_id: v.string(),
      state: v.string(),
      version: v.number(),
      reason: v.nullable(v.string()),
    }),
  ),
})

/** Starts an evaluation, follows it to its end, prints what was found; returns the exit code. */
export async function evaluateSet(request: EvaluateRequest, output: Output): Promise<number> {
  const api = createApi(request)
  return whileReachable(UNREACHABLE, output, async () => {
    const done = await follow(followed(api, request), output)
    const { scores, id } = done
    if (done.finished_at === null) {
      output.problem(`It is not done within ${request.timeoutMs / 1000} s: ${progressOf(done)}.\n`)
      return UNREACHABLE
    }
    if (!scores) {
      output.problem(`It was given up: ${done.given_up ?? ''}\n`)
      return GIVEN_UP
    }
    const worse = await listWorse(api, done)
    if (request.json) {
      output.result(`${JSON.stringify({ evaluation: done, worse }, null, 2)}\n`)
    } else {
      output.result(describe(done, scores, worse) + (await describeFailed(api, id)))
    }
    const isEnough = scores.version.share.value >= request.atLeast
    return isEnough && (!request.noWorse || scores.difference?.worse === 0) ? 0 : TOO_FEW
  })
}

function followed(api: Api, { automationId, fields, timeoutMs }: EvaluateRequest) {
  const path = `/designer/v2/automations/${automationId}/evaluations`
  return {
    start: async () => v.parse(evaluation, await api(path, { method: 'POST', json: fields })),
    again: async ({ id }: Evaluation) => v.parse(evaluation, await api(`${path}/${id}`)),
    isDone: ({ finished_at: at }: Evaluation) => at !== null,
    progressOf,
    timeoutMs,
  }
}

const progressOf = ({ runs: all, waiting }: Evaluation): string => `${all - waiting} of ${all} done`

async function listWorse(api: Api, { id, scores }: Evaluation) {
  if (!scores?.difference || scores.difference.worse === 0) return []
  const found = v.parse(changes, await api(`/designer/v2/evaluations/${id}/changes`))
  return found.changes.filter(({ change }) => change === 'worse')
}

const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`
const withInterval = ({ value, low, high }: v.InferOutput<typeof estimate>): string =>
  `${percent(value)} (95 %: ${percent(low)} to ${percent(high)})`

function lineOf(version: number | null, score: v.InferOutput<typeof side>): string {
  const { passed, cases, share, flaky, errors, tokens, usd } = score
  const cost = usd === null ? '' : `, ${usd.toFixed(4)} USD`
  return (
    `Version ${version}: ${passed} of ${cases} cases pass, ${withInterval(share)}; ` +
    `${flaky} unsteady, ${errors} with errors, ${tokens} tokens${cost}`
  )
}

function describe(
  { version, against }: Evaluation,
  scores: Scores,
  worse: v.InferOutput<typeof changes>['changes'],
): string {
  const lines = [lineOf(version, scores.version)]
  const { difference } = scores
  if (scores.against) lines.push(lineOf(against, scores.against))
  if (difference) {
    const counts = `${difference.better} better, ${difference.worse} worse`
    lines.push(`Difference: ${withInterval(difference.share)}; ${counts}`)
  }
  for (const each of worse.slice(0, SHOWN_MAX)) {
    lines.push(`worse   ${each.case_id}  ${each.reason ?? ''}`)
  }
  return `${lines.join('\n')}\n`
}

async function describeFailed(api: Api, id: string): Promise<string> {
  const lines: string[] = []
  for (const state of ['failed', 'error']) {
    const path = `/designer/v2/evaluations/${id}/runs?state=${state}&limit=${SHOWN_MAX}`
    const found = v.parse(runs, await api(path))
    for (const each of found.runs) {
      lines.push(
        `${state.padEnd(6)}  ${each.case_id}  version ${each.version}: ${each.reason ?? ''}\n`,
      )
    }
  }
  return lines.join('')
}
