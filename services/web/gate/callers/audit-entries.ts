import type { AuditEntry } from '../../../platform/audit/audit.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { BudgetKey, BudgetLimits } from '../../../platform/budgets/budgets.ts'
import type { Published } from '../../../platform/evaluations/publish-through-gates.ts'
import type { CaseSet } from '../../../platform/evaluations/case-sets.ts'
import type { Project, VersionKey } from '../../../platform/projects/projects.ts'
import type { Share } from '../../../platform/projects/releases.ts'
import type { Rating } from '../../../platform/traces/trace-notes.ts'

/** Returns the entry of the audit about a new project. */
export const projectEntry = ({ id, name }: Pick<Project, 'id' | 'name'>): AuditEntry => ({
  action: 'project_created',
  target: { kind: 'project', id, name },
})

/** Returns an entry of the audit about an automation. */
export const automationEntry = (
  action: string,
  { automationId, name }: Pick<Automation, 'automationId' | 'name'>,
): AuditEntry => ({ action, target: { kind: 'automation', id: automationId, name } })

/** Returns an entry of the audit about a run. */
export const runEntry = (action: string, runId: string, after?: object): AuditEntry => ({
  action,
  target: { kind: 'run', id: runId },
  after,
})

/** Returns an entry of the audit about a version of a project. */
export const versionEntry = (
  action: string,
  { projectId, number }: Pick<VersionKey, 'projectId' | 'number'>,
): AuditEntry => ({
  action,
  target: { kind: 'version', id: `${projectId}/${number}` },
  after: { project: projectId, version: number },
})

/**
 * Returns the entry of the audit about a version that is published, perhaps in spite of its gates;
 * or about the evaluations and replays that were started for it.
 */
export function publicationEntry(
  key: VersionKey,
  published: Published,
  override: string | undefined,
): AuditEntry | undefined {
  const entry = versionEntry('version_published', key)
  if ('version' in published) {
    return override === undefined
      ? entry
      : { ...entry, after: { ...entry.after, gates_overridden: override } }
  }
  const started = published.verdicts.filter(({ state }) => state === 'started')
  if (started.length === 0) return undefined
  const evaluations = started.flatMap(({ evaluationId }) => evaluationId ?? [])
  const replays = started.flatMap(({ replayId }) => replayId ?? [])
  return { ...entry, action: 'gates_started', after: { ...entry.after, evaluations, replays } }
}

/** Returns an entry of the audit about a version that takes all calls, or a share of them. */
export const releaseEntry = (
  { projectId, number }: Pick<VersionKey, 'projectId' | 'number'>,
  { percent, stickyInput, rollback }: Share,
): AuditEntry => ({
  action: 'version_released',
  target: { kind: 'version', id: `${projectId}/${number}` },
  after: { project: projectId, version: number, percent, sticky_input: stickyInput, rollback },
})

/** Returns an entry of the audit about a version that takes no share of the calls any more. */
export const releaseEndedEntry = ({ projectId }: Pick<VersionKey, 'projectId'>): AuditEntry => ({
  action: 'release_ended',
  target: { kind: 'project', id: projectId },
})

/** Returns an entry of the audit about cases that were added to a set, or deleted. */
export const casesEntry = (
  { id, name }: Pick<CaseSet, 'id' | 'name'>,
  after: object,
): AuditEntry => ({ action: 'cases_changed', target: { kind: 'case_set', id, name }, after })

/** Returns the entry of the audit about an answer that a person rated. */
export const reviewEntry = (
  { id, rating }: { readonly id: string; readonly rating: Rating },
  { evaluationId }: { readonly evaluationId: string | null },
): AuditEntry =>
  evaluationId === null
    ? runEntry('run_rated', id, { rating })
    : {
        action: 'result_rated',
        target: { kind: 'evaluation', id: evaluationId },
        after: { result: id, rating },
      }

/** Returns an entry of the audit about a file of a tool. */
export const toolEntry = (action: string, filename: string, after?: object): AuditEntry => ({
  action,
  target: { kind: 'tool', id: filename },
  after,
})

/** Returns an entry of the audit about a budget. */
export const budgetEntry = (
  action: string,
  { deploymentId, period }: BudgetKey,
  limits?: BudgetLimits | null,
): AuditEntry => ({
  action,
  target: {
    kind: 'budget',
    id: deploymentId === null ? period : `${deploymentId}/${period}`,
    name: deploymentId === null ? 'the organization' : 'an automation',
  },
  after: limits ?? undefined,
})

/** Returns the entry of the audit about a batch; undefined for one that was there before. */
export const batchEntry = (
  { name, isPaused }: { readonly name: string; readonly isPaused: boolean },
  { id, isNew }: { readonly id: string; readonly isNew: boolean },
): AuditEntry | undefined =>
  isNew
    ? { action: 'batch_created', target: { kind: 'batch', id, name }, after: { paused: isPaused } }
    : undefined
