import { inputNames } from '../../../platform/definitions/crew-inputs.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Project } from '../../../platform/projects/projects.ts'

/** Returns a project as the designer shows it. */
export function projectDocument(project: Project) {
  return {
    id: project.id,
    name: project.name,
    latest_version: project.lastVersion === 0 ? null : project.lastVersion,
    published_version: project.publishedVersion,
    automation_id: project.automationId,
    created_at: project.createdAt,
  }
}

/** Returns a version without its definition, as lists show it. */
export function versionSummary({ projectId, number, definition, ...version }: Version) {
  return {
    project_id: projectId,
    number,
    status: version.publishedAt === null ? 'draft' : 'published',
    inputs: inputNames(definition),
    created_at: version.createdAt,
    published_at: version.publishedAt,
  }
}

/** Returns a version with its definition. */
export function versionDocument(version: Version) {
  return { ...versionSummary(version), definition: version.definition }
}

/** A run without what went in and came out, as lists show it. */
export function runSummary(run: RunRecord) {
  return {
    kickoff_id: run.id,
    project_id: run.projectId,
    version: run.version,
    automation_id: run.automationId,
    status: run.status,
    queued_at: run.queuedAt,
    started_at: run.startedAt,
    finished_at: run.finishedAt,
  }
}

/** Returns a run with its inputs and its output. */
export function runDocument(run: RunRecord) {
  const { inputs, output, usage, error } = run
  return {
    ...runSummary(run),
    inputs,
    output,
    usage: usage && { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    error,
  }
}
