import { didYouMean } from '../shared/closest.ts'
import { wrong } from './option-values.ts'
import { verdictOf } from './report.ts'
import type { Answer, DoctorReport } from './report.ts'

/** The components that somebody asked for, and those to leave out; all without any. */
export interface Selection {
  readonly only: readonly string[]
  readonly skip: readonly string[]
}

/** Returns true for a component that counts. */
export const isSelected = ({ only, skip }: Selection, name: string): boolean =>
  (only.length === 0 || only.includes(name)) && !skip.includes(name)

/**
 * Raises `invalid_request` for a selection with a name that is none of `names`, or that leaves
 * nothing.
 */
export function checkSelection(selection: Selection, names: readonly string[]): void {
  const unknown = [...selection.only, ...selection.skip].find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, names)
    throw wrong(`There is no check "${unknown}".${hint} There are: ${names.join(', ')}.`)
  }
  if (!names.some((name) => isSelected(selection, name))) {
    throw wrong(`--only and --skip leave no check of: ${names.join(', ')}.`)
  }
}

/** Leaves the selected components in a report, and judges it by them. */
function selectFrom(report: DoctorReport, selection: Selection): DoctorReport {
  if (selection.only.length + selection.skip.length === 0) return report
  checkSelection(selection, Object.keys(report.components))
  const components = Object.fromEntries(
    Object.entries(report.components).filter(([name]) => isSelected(selection, name)),
  )
  return { ...report, status: verdictOf(components), components }
}

/** Leaves the selected components in an answer. Raises `invalid_request` for an unknown name. */
export const selectFromAnswer = (answer: Answer, selection: Selection): Answer =>
  answer.report ? { url: answer.url, report: selectFrom(answer.report, selection) } : answer
