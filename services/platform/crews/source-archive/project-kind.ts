import { isUtf8 } from 'node:buffer'
import { AppError } from '../../../shared/errors.ts'

/** Longer lines have none of the texts that are looked for. */
const TOML_LINE_MAX = 1000
const TOML_TABLE = /^\s*\[\s*([^[\]]+?)\s*\]\s*(?:#.*)?$/
const TOML_TEXT = /^\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\["\\])*)"|'([^']*)')\s*(?:#.*)?$/

/** A file of a program that is read has at most so many bytes. */
const TEXT_BYTES_MAX = 512 * 1024
const NAMES_SHOWN = 8
const NEEDS = ['pyproject.toml', 'requirements.txt']
const CREW_FILES = ['crew.jsonc', 'crew.json']
/** What the runtime looks for as well, without its reading of the program. */
const CREW_CLASS = /^[ \t]{0,40}@(?:[\w.]{1,100}\.)?CrewBase\b/m
const FLOW_CLASS = /^class[ \t]{1,40}\w{1,100}\([^)]{0,500}\bFlow\b/m

/** What a project is run as. */
type ProjectKind = 'crew' | 'flow' | 'crew file' | 'entrypoint' | 'container'

/** What was found in a project. */
interface ProjectFacts {
  readonly kind: ProjectKind
  readonly requiresPython?: string
  readonly hasDockerfile?: true
  /** It has a uv.lock, so that each build installs the same. */
  readonly hasLock?: true
}

/** Reads the files of a project that say what it is, while an archive is read. */
export interface ProjectReader {
  /** Whether a file of so many bytes is to be read. */
  wants(path: string, size: number): boolean
  read(path: string, content: Buffer): void
  /** Raises `unprocessable` for a project that cannot be run. */
  describe(project: Project): ProjectFacts
}

interface Project {
  readonly root: string
  readonly paths: readonly string[]
  /** What the automation's settings name. */
  readonly entrypoint: string | null
}

/** Creates a reader for one archive. */
export function createProjectReader(): ProjectReader {
  const projects = new Map<string, Buffer>()
  const crews = new Set<string>()
  const flows = new Set<string>()
  return {
    wants: (path, size) =>
      size <= TEXT_BYTES_MAX && (path.endsWith('.py') || path.endsWith('pyproject.toml')),
    read(path, content) {
      const text = content.toString('utf8')
      if (path.endsWith('pyproject.toml')) projects.set(path, content)
      else if (CREW_CLASS.test(text)) crews.add(path)
      else if (FLOW_CLASS.test(text)) flows.add(path)
    },
    describe({ root, paths, entrypoint }) {
      const has = (name: string): boolean => paths.includes(`${root}${name}`)
      const said = readTomlTexts(toText(projects.get(`${root}pyproject.toml`)))
      const hasDockerfile = has('Dockerfile')
      if (!hasDockerfile && !NEEDS.some(has)) throw withoutNeeds({ root, paths })
      const isIn = (found: ReadonlySet<string>): boolean =>
        [...found].some((path) => path.startsWith(root))
      const kind = kindOf({
        isNamed: (entrypoint ?? said.get('tool.crew-runtime.entrypoint')) !== undefined,
        hasCrewFile: CREW_FILES.some(has),
        hasFlow: isIn(flows),
        hasCrew: isIn(crews),
        hasDockerfile,
      })
      const requiresPython = said.get('project.requires-python')
      return {
        kind,
        ...(requiresPython === undefined ? {} : { requiresPython: requiresPython.slice(0, 100) }),
        ...(hasDockerfile ? { hasDockerfile } : {}),
        ...(has('uv.lock') ? { hasLock: true } : {}),
      }
    },
  }
}

function toText(project: Buffer | undefined): string {
  if (project === undefined || isUtf8(project)) return project?.toString('utf8') ?? ''
  const isWide = ['fffe', 'feff'].includes(project.subarray(0, 2).toString('hex'))
  throw new AppError(
    'unprocessable',
    `"pyproject.toml" is in ${isWide ? 'UTF-16' : 'another encoding'}, and has to be in UTF-8. ` +
      'Save it as UTF-8, and send it again.',
  )
}

interface Findings {
  readonly isNamed: boolean
  readonly hasCrewFile: boolean
  readonly hasFlow: boolean
  readonly hasCrew: boolean
  readonly hasDockerfile: boolean
}

function kindOf(found: Findings): ProjectKind {
  if (found.isNamed) return 'entrypoint'
  if (found.hasCrewFile) return 'crew file'
  if (found.hasFlow) return 'flow'
  if (found.hasCrew) return 'crew'
  if (found.hasDockerfile) return 'container'
  throw new AppError(
    'unprocessable',
    'The project has no crew: neither a crew.jsonc, nor a class with @CrewBase, nor one derived ' +
      'from Flow. Name what is run as module:function, in the settings or as entrypoint in ' +
      '[tool.crew-runtime] of pyproject.toml.',
  )
}

function withoutNeeds({ root, paths }: Pick<Project, 'root' | 'paths'>): AppError {
  const names = [...new Set(paths.map((path) => path.slice(root.length).split('/')[0] ?? ''))]
  const more = names.length > NAMES_SHOWN ? ' and more' : ''
  const shown = names.slice(0, NAMES_SHOWN).map((name) => JSON.stringify(name.slice(0, 60)))
  return new AppError(
    'unprocessable',
    `The project has no ${NEEDS.join(' and no ')} at its top, so what it needs is not known. ` +
      `There are ${shown.join(', ')}${more}. Add one, or pack the folder that has it.`,
  )
}

/**
 * Returns the plain texts in a TOML document by their dotted keys, such as
 * `project.requires-python`. Everything else in it is skipped, and so is what is not TOML: whoever
 * installs the project reads all of it.
 */
function readTomlTexts(document: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  let table = ''
  for (const line of document.split('\n')) {
    if (line.length > TOML_LINE_MAX) continue
    const [, name] = TOML_TABLE.exec(line) ?? []
    if (name !== undefined) table = name.replaceAll(/["'\s]/g, '')
    const [, key, quoted, literal] = TOML_TEXT.exec(line) ?? []
    if (key === undefined) continue
    const value = literal ?? (quoted ?? '').replaceAll(/\\(["\\])/g, '$1')
    texts.set(table === '' ? key : `${table}.${key}`, value)
  }
  return texts
}
