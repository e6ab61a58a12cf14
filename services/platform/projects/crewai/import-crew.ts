import * as v from 'valibot'
import { describeIssue } from '../../../shared/describe-issue.ts'
import { crewDefinition } from '../../definitions/crew-definition.ts'
import type { CrewDefinition } from '../../definitions/crew-definition.ts'
import { CREW_FILES, readCrewFiles } from './crew-files.ts'
import type { ProjectParts } from './crew-files.ts'
import { checkFiles, findFiles, readProjectText } from './project-files.ts'
import type { ProjectFiles } from './project-files.ts'
import { reportInputs } from './placeholders.ts'
import { createReport, PYTHON } from './report.ts'
import type { ImportProblem, Place, Report } from './report.ts'
import { toDefinition } from './to-definition.ts'
import { YAML_FILES, hasCrewBase, readYamlFiles } from './yaml-files.ts'

const UNUSED_NOTED_MAX = 20

const UNUSED_MEANINGS: readonly (readonly [RegExp, string])[] = [
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

/** What an import makes of a project. */
export interface CrewImport {
  /** Absent when a problem is `refused`. */
  readonly definition?: CrewDefinition
  readonly problems: readonly ImportProblem[]
}

/**
 * Makes a crew definition of the files of a CrewAI project, and lists by file and key what is not
 * taken over. Raises `invalid_request` and `payload_too_large` for files that cannot be a project.
 */
export function importCrew(files: ProjectFiles): CrewImport {
  checkFiles(files)
  const report = createReport()
  const parts = readParts(files, report)
  if (!parts) return { problems: report.problems() }
  const read = new Set(parts.read)
  const made = toDefinition(parts, { files, read, report })
  noteUnusedFiles(files, read, report)
  const definition = check(made, parts, report)
  const problems = report.problems()
  const isRefused = problems.some(({ level }) => level === 'refused')
  return definition && !isRefused ? { definition, problems } : { problems }
}

function readParts(files: ProjectFiles, report: Report): ProjectParts | undefined {
  const crews = findFiles(files, /^crew\.jsonc?$/)
  const top = crews.filter((file) => file.split('/').length === crews[0]?.split('/').length)
  const [crew] = CREW_FILES.flatMap((name) => top.filter((file) => file.endsWith(name)))
  const folders = new Set(top.map((file) => file.replace(/[^/]*$/, '')))
  if (folders.size > 1) {
    report.refuse(
      { file: top[1] ?? '', key: '' },
      'There is more than one crew. Import one of them.',
    )
    return undefined
  }
  const yaml = [...findFiles(files, YAML_FILES.tasks), ...findFiles(files, YAML_FILES.agents)]
  if (crew !== undefined) {
    for (const file of [...top.filter((each) => each !== crew), ...yaml]) {
      report.note({ file, key: '' }, `This file is not read: ${crew} takes precedence.`)
    }
    return readCrewFiles(files, crew, report)
  }
  if (isFlow(files, report)) return undefined
  if (
    yaml.length > 0 ||
    findFiles(files, /\.py$/).some((file) => hasCrewBase(files.get(file) ?? new Uint8Array()))
  )
    return readYamlFiles(files, report)
  report.refuse(
    { file: '', key: '' },
    'This is no CrewAI project: it has neither crew.jsonc nor agents.yaml and tasks.yaml. Give ' +
      'the folder that has pyproject.toml.',
  )
  return undefined
}

function isFlow(files: ProjectFiles, report: Report): boolean {
  const [file] = findFiles(files, /^pyproject\.toml$/)
  const text = file === undefined ? undefined : readProjectText(files, file, report)
  if (file === undefined || !/^type\s*=\s*["']flow["']/m.test(text ?? '')) return false
  report.refuse(
    { file, key: 'tool.crewai.type' },
    'A flow has no equivalent. It needs a crew of its own (docs/crew-contract.md), or import the ' +
      'folder of one of its crews.',
  )
  return true
}

/** Finds what the platform refuses in what was made. */
function check(
  made: Readonly<Record<string, unknown>>,
  parts: ProjectParts,
  report: Report,
): CrewDefinition | undefined {
  const result = v.safeParse(crewDefinition, made)
  if (result.success) {
    reportInputs(result.output, parts.read[0] ?? '', report)
    return result.output
  }
  // A text that is missing was reported where it should be.
  const hasOthers = report.problems().some(({ level }) => level === 'refused')
  for (const issue of hasOthers ? [] : result.issues) {
    report.refuse(placeOf(issue, parts), describeIssue(issue, 'definition'))
  }
  return undefined
}

function placeOf({ path }: v.BaseIssue<unknown>, parts: ProjectParts): Place {
  const [kind, index] = path?.map(({ key }) => key) ?? []
  const list = kind === 'agents' ? parts.agents : kind === 'tasks' ? parts.tasks : []
  const part = typeof index === 'number' ? list[index] : undefined
  return part ?? { file: parts.read[0] ?? '', key: '' }
}

/** Notes which files of a project were not read, and mean something to CrewAI. */
function noteUnusedFiles(files: ProjectFiles, read: ReadonlySet<string>, report: Report): void {
  const unused = [...files.keys()].flatMap((file) => {
    const isIgnored = read.has(file) || /(^|\/)(\.gitkeep|tests?\/.*)$/.test(file)
    const meaning = isIgnored ? undefined : UNUSED_MEANINGS.find(([pattern]) => pattern.test(file))
    return meaning ? [{ file, message: meaning[1] }] : []
  })
  for (const { file, message } of unused.slice(0, UNUSED_NOTED_MAX)) {
    report.note({ file, key: '' }, message)
  }
  const more = unused.length - UNUSED_NOTED_MAX
  if (more > 0) report.note({ file: '', key: '' }, `${more} more files are not imported.`)
}
