import type { CrewImport } from './import-crew.ts'

/**
 * Returns why a project is not imported: a problem refuses it, or something is left out and the
 * caller has not accepted that. Undefined when it can be imported.
 */
export function refusalOf(
  { problems }: CrewImport,
  { leaveOut }: { readonly leaveOut: boolean },
): string | undefined {
  const count = (wanted: string): number => problems.filter(({ level }) => level === wanted).length
  const refused = count('refused')
  if (refused > 0) return `The project cannot be imported: ${many(refused)} in the way.`
  const leftOut = count('left_out')
  if (leftOut === 0 || leaveOut) return undefined
  return (
    `The project would be imported without what ${many(leftOut)} about. Accept that what is left ` +
    'out is missing, or change the project.'
  )
}

const many = (count: number): string => (count === 1 ? 'one problem is' : `${count} problems are`)
