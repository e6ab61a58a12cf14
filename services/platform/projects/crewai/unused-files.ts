import type { ProjectFiles } from './project-files.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'

const NOTES_MAX = 20
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/(^|\/)\.env[^/]*$/, 'Variables are not read. Enter keys of models under LLM connections.'],
  [
    /(^|\/)knowledge\//,
    'No agent and no crew names this file as knowledge, so it is not imported.',
  ],
  [/(^|\/)skills\/.*[^/]$/, 'Skills are not imported. Put what they say into the backstory.'],
  [/(^|\/)tools\/(?!__init__).*\.py$/, PYTHON],
  [/(^|\/)main\.py$/, 'This is not imported. Values for inputs are given when a run starts.'],
  [/(?<!__init__)\.py$/, PYTHON],
]

/** Notes which files of a project were not read, and mean something to CrewAI. */
export function noteUnusedFiles(
  files: ProjectFiles,
  read: ReadonlySet<string>,
  report: Report,
): void {
  const unused = [...files.keys()].flatMap((file) => {
    const isIgnored = read.has(file) || /(^|\/)(\.gitkeep|tests?\/.*)$/.test(file)
    const meaning = isIgnored ? undefined : MEANINGS.find(([pattern]) => pattern.test(file))
    return meaning ? [{ file, message: meaning[1] }] : []
  })
  for (const { file, message } of unused.slice(0, NOTES_MAX)) {
    report.note({ file, key: '' }, message)
  }
  const more = unused.length - NOTES_MAX
  if (more > 0) report.note({ file: '', key: '' }, `${more} more files are not imported.`)
}
