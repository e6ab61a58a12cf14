/** What a person may decide about the output of a task. */
export const DECISIONS = ['approve', 'edit', 'reject'] as const
/** The decision of a person. */
export type Decision = (typeof DECISIONS)[number]

/** What a run asks a person. */
export interface ApprovalRequest {
  /** The key of the step that waits. */
  readonly step: string
  readonly task: string
  /** What the task would put out. */
  readonly output: string
}
