import { AppError } from '../../shared/errors.ts'
import type { Api } from './api.ts'
import type { Step } from './plan.ts'
import type { ResolvedDocument } from './resolve-documents.ts'
import { isObject } from '../../shared/is-object.ts'
import { pathOf } from './state.ts'

/** What happened to a step. */
export interface Outcome {
  readonly step: Step
  /** undefined: it is done. */
  readonly problem?: string
  /** The name of the secret that was made with it, which is not shown. */
  readonly made?: string | undefined
}

/** What happened to a plan. */
export interface Applied {
  readonly outcomes: readonly Outcome[]
  /** The answers to what created rows. */
  readonly created: ReadonlyMap<ResolvedDocument, Readonly<Record<string, unknown>>>
  /** Why the rest was not tried. */
  readonly broken?: string
}

/**
 * Does what a plan says, one row after the other. A row that was changed since is left as it is,
 * unless `isForced`. Rows are deleted only when all others are done. Ends early when the platform
 * cannot be reached.
 */
export async function applyPlan(
  steps: readonly Step[],
  { api, isForced }: { readonly api: Api; readonly isForced: boolean },
  report: (outcome: Outcome) => void,
): Promise<Applied> {
  const outcomes: Outcome[] = []
  const created = new Map<ResolvedDocument, Readonly<Record<string, unknown>>>()
  for (const step of steps.filter(({ action }) => action !== 'unchanged')) {
    try {
      const outcome = await take(step)
      outcomes.push(outcome)
      report(outcome)
    } catch (thrown) {
      if (!(thrown instanceof AppError) || !isAway(thrown)) throw thrown
      return { outcomes, created, broken: thrown.message }
    }
  }
  return { outcomes, created }

  async function take(step: Step): Promise<Outcome> {
    if (step.action === 'delete' && outcomes.some(({ problem }) => problem !== undefined)) {
      return { step, problem: 'It is not deleted: something before it was refused.' }
    }
    try {
      return { step, made: await send(step) }
    } catch (thrown) {
      if (!(thrown instanceof AppError) || isAway(thrown)) throw thrown
      if (thrown.code !== 'precondition_failed') return { step, problem: thrown.message }
      const problem =
        'It was changed since the plan was made. Apply again to see what differs now; with ' +
        '--force it is changed in any case.'
      return { step, problem }
    }
  }

  /** Returns the id of the parent, which may have been created just now. */
  function ownerIdOf({ kind, owner, resolved }: Step): string | undefined {
    if (!kind.parent || owner) return owner?.id
    const made = resolved?.parent && created.get(resolved.parent)
    if (made) return String(made[kind.parent.id] ?? made['id'])
    throw new AppError('unprocessable', 'What it belongs to was not created.')
  }

  async function send(step: Step): Promise<string | undefined> {
    const { action, kind, row, body, resolved } = step
    const ownerId = ownerIdOf(step)
    const list = pathOf(kind, ownerId)
    if (!row) {
      const answer = await api(list, { method: 'POST', json: body })
      if (resolved && isObject(answer)) created.set(resolved, answer)
      return kind.makesSecret
    }
    const version = isForced ? undefined : row.version
    const path = `${list}/${encodeURIComponent(row.id)}`
    if (action === 'delete') await api(path, { method: 'DELETE', version })
    else await api(path, { method: 'PUT', json: body, version })
    return undefined
  }
}

const isAway = ({ code }: AppError): boolean => code === 'unavailable' || code === 'timeout'
