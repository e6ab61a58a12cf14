import { AppError } from '../../shared/errors.ts'
import { createApi } from './api.ts'
import type { Api } from './api.ts'
import { applyPlan } from './apply-plan.ts'
import type { Applied, Outcome } from './apply-plan.ts'
import { readDocuments } from './documents.ts'
import { readKinds } from './kinds.ts'
import type { ApplyRequest } from './options.ts'
import { makePlan } from './plan.ts'
import type { Plan, Step } from './plan.ts'
import {
  PROBLEMS_MAX,
  printBreak,
  printOutcome,
  printPlan,
  printProblems,
  toJson,
} from './print.ts'
import { sortProblems } from './problems.ts'
import { readFiles } from './read-files.ts'

const REFUSED = 2
const UNREACHABLE = 3

/** Where the task writes. */
export interface Output {
  readonly result: (text: string) => void
  readonly problem: (text: string) => void
}

/** Compares files with a platform, changes what differs, and returns the exit code. */
export async function applyFiles(request: ApplyRequest, output: Output): Promise<number> {
  const { json, isDryRun } = request
  // One JSON object takes the place of all texts.
  const say = json ? { result: () => {}, problem: () => {} } : output
  const api = createApi(request)
  const end = (plan: Plan, code: number, applied?: Applied): number => {
    if (json) output.result(`${JSON.stringify(toJson(plan, applied), null, 2)}\n`)
    return code
  }
  try {
    const { files, problems: unread } = await readFiles(request.paths)
    const { documents, problems: unclear } = readDocuments(files)
    const kinds = readKinds(await api('/openapi.json'))
    const known = [...unread, ...unclear]
    // The platform is not asked about the rest of files that are broken throughout.
    const rest = known.length > PROBLEMS_MAX ? [] : documents
    const made = await makePlan(rest, { ...request, api, kinds })
    const problems = sortProblems([...known, ...made.problems])
    const plan = { steps: made.steps, problems }
    if (plan.problems.length > 0) {
      say.problem(printProblems(plan.problems))
      return end(plan, REFUSED)
    }
    say.result(printPlan(plan))
    if (isDryRun) return end(plan, 0)
    const calling = { ...request, api }
    await markBefore(calling, plan.steps)
    const applied = await applyAndMark(plan.steps, calling, (outcome) => {
      const write = outcome.problem === undefined ? say.result : say.problem
      write(printOutcome(outcome))
    })
    if (applied.broken !== undefined) {
      say.problem(printBreak(applied, plan.steps))
      return end(plan, UNREACHABLE, applied)
    }
    const isRefused = applied.outcomes.some(({ problem }) => problem !== undefined)
    return end(plan, isRefused ? REFUSED : 0, applied)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    const { code, message } = thrown
    say.problem(printProblems([{ message }]))
    const plan = { steps: [], problems: [{ message }] }
    return end(plan, code === 'unavailable' || code === 'timeout' ? UNREACHABLE : REFUSED)
  }
}

async function applyAndMark(
  steps: readonly Step[],
  calling: ApplyRequest & { readonly api: Api },
  report: (outcome: Outcome) => void,
): Promise<Applied> {
  const applied = await applyPlan(steps, calling, report)
  if (applied.broken !== undefined) return applied
  try {
    await markAfter(calling, steps, applied)
    return applied
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return { ...applied, broken: thrown.message }
  }
}

type Marked = Pick<ApplyRequest, 'managedBy'> & { readonly api: Api }

/**
 * Marks the rows that files keep and no others; before anything is changed, so that nothing is when
 * that is refused. What is to be deleted keeps its mark: a run that breaks finds it again.
 */
const markBefore = async (by: Marked, steps: readonly Step[]): Promise<void> =>
  mark(
    by,
    steps.map((step) => [step, step.row?.id]),
  )

/** Marks what was created, too, and what was deleted no more. */
async function markAfter(
  by: Marked,
  steps: readonly Step[],
  { outcomes, created }: Applied,
): Promise<void> {
  const done = outcomes.filter(({ problem }) => problem === undefined).map(({ step }) => step)
  const moved = done.filter(({ action }) => action !== 'change')
  if (moved.length === 0) return
  const deleted = new Set(moved.filter(({ action }) => action === 'delete'))
  const left = steps.filter((step) => !deleted.has(step))
  return mark(
    by,
    left.map((step) => {
      const answer = step.resolved && created.get(step.resolved)
      return [step, step.row?.id ?? (answer && String(answer['id']))]
    }),
  )
}

type Rows = readonly (readonly [step: Step, id: string | undefined])[]

async function mark({ api, managedBy }: Marked, rows: Rows): Promise<void> {
  if (managedBy === undefined) return
  const resources = rows.flatMap(([step, id]) =>
    id === undefined ? [] : [{ kind: step.kind.kind, id }],
  )
  await api(`/designer/v2/managed/${encodeURIComponent(managedBy)}`, {
    method: 'PUT',
    json: { resources },
  })
}
