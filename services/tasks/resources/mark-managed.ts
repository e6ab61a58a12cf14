import type { Api } from './api.ts'
import type { Applied } from './apply-plan.ts'
import type { ApplyRequest } from './options.ts'
import type { Step } from './plan.ts'

type Marked = Pick<ApplyRequest, 'managedBy'> & { readonly api: Api }

/**
 * Marks the rows that files keep and no others; before anything is changed, so that nothing is when
 * that is refused. What is to be deleted keeps its mark: a run that breaks finds it again.
 */
export const markBefore = async (by: Marked, steps: readonly Step[]): Promise<void> =>
  mark(
    by,
    steps.map((step) => [step, step.row?.id]),
  )

/** Marks what was created, too, and what was deleted no more. */
export async function markAfter(
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
