import { parseArgs } from 'node:util'
import { importCrew } from '../platform/projects/crewai/import-crew.ts'
import type { CrewImport } from '../platform/projects/crewai/import-crew.ts'
import { refusalOf } from '../platform/projects/crewai/refusal.ts'
import { getOrganizationByName } from '../platform/people/organizations.ts'
import { createVersion } from '../platform/projects/project-versions.ts'
import { ensureProject } from '../platform/projects/projects.ts'
import { AppError, toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  PROJECT_BYTES_MAX,
  PROJECT_FILES_MAX,
  isProjectFile,
  isProjectFolder,
  tooLarge,
} from '../platform/projects/crewai/project-files.ts'
import type { ProjectFiles } from '../platform/projects/crewai/project-files.ts'

/** The exit code of a project that is not imported because of its problems. */
const REFUSED = 2

/** The help of the task. */
export const IMPORT_USAGE = `Usage: npm run task -- designer:import DIR [options]

Reads a CrewAI project: crew.jsonc with agents/*.jsonc, or agents.yaml and tasks.yaml. Prints the
definition that it makes, and by file and key what is not taken over. Stores nothing unless an
organization is named.

  --organization NAME  store the definition as a draft in a project of this organization
  --project NAME       the project that gets the draft; it is created when it is missing
                       (default: the name of the crew)
  --leave-out          import without what has no equivalent (the problems "left out")
  --json               print one JSON object instead of text
  --help               print this

Exit code: 0 when it can be imported, 2 when its problems are in the way, 1 for anything else.
`

const OPTIONS = {
  organization: { type: 'string' },
  project: { type: 'string' },
  'leave-out': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** What somebody asks the task for. */
export interface ImportRequest {
  readonly directory: string
  readonly organization?: string | undefined
  readonly project?: string | undefined
  readonly leaveOut: boolean
  readonly json: boolean
}

/** Reads the arguments of the task; undefined asks for its help. Raises `invalid_request`. */
export function readImportRequest(args: readonly string[]): ImportRequest | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [directory, ...others] = positionals
  if (directory === undefined || others.length > 0) {
    throw new AppError('invalid_request', `Name one directory.\n\n${IMPORT_USAGE}`)
  }
  const { organization, project, json } = values
  return { directory, organization, project, json, leaveOut: values['leave-out'] }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (thrown) {
    throw new AppError('invalid_request', `${toError(thrown).message}\n\n${IMPORT_USAGE}`)
  }
}

/** How the task reaches the database, when it has to. */
type UseDatabase = (use: (sql: Database, log: Log) => Promise<void>) => Promise<unknown>

/** Imports a project, and returns the exit code. Raises what reading and storing raise. */
export async function importProject(request: ImportRequest, use: UseDatabase): Promise<number> {
  const imported = importCrew(await readProject(request.directory))
  const refusal = refusalOf(imported, request)
  let stored: StoredVersion | undefined
  if (!refusal && request.organization !== undefined) {
    await use(async (sql) => {
      stored = await store(sql, imported, request)
    })
  }
  const print = request.json ? toJson : toText
  process.stdout.write(`${print(imported, { refusal, stored })}\n`)
  return refusal ? REFUSED : 0
}

interface StoredVersion {
  readonly projectId: number
  readonly project: string
  readonly number: number
}

async function store(
  sql: Database,
  { definition }: CrewImport,
  { organization = '', project }: ImportRequest,
): Promise<StoredVersion> {
  if (!definition) throw new Error('a project that is not refused has a definition')
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  const name = project ?? definition.name
  return sql.begin(async (tx) => {
    const projectId = await ensureProject(tx, { organizationId, name })
    const { number } = await createVersion(tx, { organizationId, projectId }, definition)
    return { projectId, project: name, number }
  })
}

interface Outcome {
  readonly refusal?: string | undefined
  readonly stored?: StoredVersion | undefined
}

function toJson({ definition, problems }: CrewImport, { refusal, stored }: Outcome): string {
  const version = stored && { project_id: stored.projectId, number: stored.number }
  return JSON.stringify({ definition: definition ?? null, problems, refusal, version }, null, 2)
}

const LEVELS = { refused: 'refused', left_out: 'left out', note: 'note' } as const

function toText({ definition, problems }: CrewImport, { refusal, stored }: Outcome): string {
  const lines = problems.map(({ level, file, key, message }) => {
    const place = [file, key].filter((part) => part !== '').join(': ')
    return `${LEVELS[level]}: ${place === '' ? '' : `${place}: `}${message}`
  })
  const made = definition ? [JSON.stringify(definition, null, 2)] : []
  const outcome = stored
    ? `Stored as version ${stored.number}, a draft, of the project ${stored.project} ` +
      `(${stored.projectId}).`
    : (refusal ?? 'It can be imported. Name an --organization to store it as a draft.')
  return [...lines, ...made, outcome].join('\n')
}

/**
 * Reads the files of a project from a directory, without hidden folders and links. Raises
 * `invalid_request` and `payload_too_large`.
 */
async function readProject(directory: string): Promise<ProjectFiles> {
  const found = await stat(directory).catch(() => undefined)
  if (!found?.isDirectory()) {
    throw new AppError('invalid_request', `${directory} is not a directory that can be read.`)
  }
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  for await (const path of listFiles(directory)) {
    bytes += (await stat(join(directory, path))).size
    if (files.size >= PROJECT_FILES_MAX || bytes > PROJECT_BYTES_MAX) throw tooLarge()
    files.set(path, await readFile(join(directory, path)))
  }
  return files
}

async function* listFiles(directory: string, prefix = ''): AsyncGenerator<string> {
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    if (entry.isDirectory() && isProjectFolder(entry.name))
      yield* listFiles(directory, `${prefix}${entry.name}/`)
    else if (entry.isFile() && isProjectFile(entry.name)) yield `${prefix}${entry.name}`
  }
}
