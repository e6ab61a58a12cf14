import * as v from 'valibot'
import type {
  KnowledgeText,
  KnowledgeTexts,
} from '../../../platform/definitions/knowledge-texts.ts'
import { detectType, isTextType, typeProblem } from '../../../platform/crew-contract/file-types.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { detectDocument, isDocumentType } from '../../../shared/documents/document-types.ts'
import type { ReadDocuments } from '../../../shared/documents/read-document.ts'
import { AppError } from '../../../shared/errors.ts'
import { parseYaml } from '../../../platform/projects/crewai/yaml-file.ts'
import { describeIssue } from '../../../shared/describe-issue.ts'
import { isZip, readZip } from '../project-import/archive.ts'

/** Files of a folder of skills, which are unpacked in memory. */
const SKILLS = {
  bytesMax: 20 * 1024 * 1024,
  filesMax: 500,
  tooLarge: () =>
    new AppError(
      'payload_too_large',
      'Skills have at most 500 files and 20 MiB together. Leave out what agents cannot read.',
    ),
  isWanted: (path: string) => !path.split('/').some((step) => /^(\..*|__MACOSX)$/.test(step)),
}

/** What an upload has become. */
export interface UploadedKnowledge {
  readonly texts: KnowledgeTexts
  /** Files of skills that no agent can read. */
  readonly leftOut: readonly string[]
}

/**
 * Makes knowledge of a file: of a text, a document, or a ZIP archive of skills, whose folders have
 * a SKILL.md. Raises `unprocessable`, `invalid_request` and `payload_too_large` that say why not.
 */
export async function readKnowledge(
  sent: SentContent,
  readDocument: ReadDocuments,
): Promise<UploadedKnowledge> {
  const bytes = Buffer.concat(sent.chunks)
  if (isZip(bytes) && isArchive(bytes)) return readSkills(bytes, readDocument)
  if (/(^|\/)SKILL\.md$/.test(sent.name)) {
    const { name, description, text } = readSkillHead(bytes.toString('utf8'), sent.name)
    return { texts: { [name]: { description, text } }, leftOut: [] }
  }
  const read = await readText(sent, readDocument)
  if (read === undefined) throw new AppError('unprocessable', typeProblem(sent))
  return { texts: { [keyOf(sent.name)]: read }, leftOut: [] }
}

const isArchive = (bytes: Buffer): boolean => {
  const document = detectDocument(bytes)
  return document !== undefined && 'problem' in document
}

async function readText(
  sent: SentContent,
  readDocument: ReadDocuments,
): Promise<KnowledgeText | undefined> {
  const { name, chunks } = sent
  const bytes = Buffer.concat(chunks)
  const type = detectType(sent) ?? ''
  if (isTextType(type)) {
    const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
    if (text.trim() !== '') return { text }
    throw new AppError('unprocessable', `The file ${name} is empty.`)
  }
  if (!isDocumentType(type)) return undefined
  const { text, extent } = await readDocument({ name, bytes })
  return extent === '' ? { text } : { text, extent }
}

async function readSkills(bytes: Buffer, readDocument: ReadDocuments): Promise<UploadedKnowledge> {
  const files = await readZip(bytes, SKILLS)
  const folders = [...files.keys()]
    .filter((path) => path === SKILL_FILE || path.endsWith(`/${SKILL_FILE}`))
    .map((path) => path.slice(0, -SKILL_FILE.length))
  if (folders.length === 0) {
    throw new AppError(
      'unprocessable',
      'The archive has no SKILL.md. An archive is taken as knowledge if it has a folder of a ' +
        'skill; send other files one by one.',
    )
  }
  const texts: Record<string, KnowledgeText> = {}
  const leftOut: string[] = []
  for (const folder of folders) {
    const skill = { files, folder, inner: folders.filter((each) => each.length > folder.length) }
    const { name, text, description, others, unread } = await readSkill(skill, readDocument)
    if (Object.hasOwn(texts, name)) {
      throw new AppError('unprocessable', `The archive has two skills with the name ${name}.`)
    }
    texts[name] = { text, description, ...(Object.keys(others).length > 0 && { files: others }) }
    leftOut.push(...unread)
  }
  return { texts, leftOut }
}

interface SkillFolder {
  readonly files: ReadonlyMap<string, Uint8Array>
  /** With a / at its end; the empty text is the top. */
  readonly folder: string
  /** Folders that may be skills within it. */
  readonly inner: readonly string[]
}

async function readSkill({ files, folder, inner }: SkillFolder, readDocument: ReadDocuments) {
  const head = `${folder}${SKILL_FILE}`
  const skill = readSkillHead(Buffer.from(files.get(head) ?? []).toString('utf8'), head)
  const others: Record<string, string> = {}
  const unread: string[] = []
  const own = [...files].filter(
    ([path]) =>
      path.startsWith(folder) && path !== head && !inner.some((each) => path.startsWith(each)),
  )
  for (const [path, content] of own) {
    const sent = { name: path, declared: '', chunks: [content] }
    const read = content.length === 0 ? undefined : await readText(sent, readDocument)
    if (read) others[path.slice(folder.length)] = read.text
    else unread.push(path)
  }
  return { ...skill, others, unread }
}

/** Returns the name that a file has as knowledge: its own, without what no name may have. */
function keyOf(fileName: string): string {
  const name = fileName
    .replace(/^.*[/\\]|\.\w{1,8}$/g, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\w-]+/g, '_')
    .slice(0, 50)
  return /^[A-Za-z]/.test(name) ? name : `text_${name}`.replace(/_+$/, '')
}

/** The file that makes a folder a skill. */
const SKILL_FILE = 'SKILL.md'

/** Longer front matter is none: a description has at most 1,024 characters. */
const HEAD_CHARACTERS_MAX = 16_384

// Licence, compatibility, allowed-tools and metadata mean nothing here: tools are the version's.
const skillHead = v.object({
  name: v.pipe(
    v.string('must be a text'),
    v.regex(
      /^[a-z][a-z\d]*(-[a-z\d]+)*$/,
      'must be small letters, digits and single hyphens, with a letter first',
    ),
    v.maxLength(64, 'must have at most 64 characters'),
  ),
  description: v.pipe(
    v.string('must be a text'),
    v.trim(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(1024, 'must have at most 1024 characters'),
  ),
})

/** The instructions of a skill, and when to read them. */
interface SkillHead {
  readonly name: string
  readonly description: string
  readonly text: string
}

/** Reads a SKILL.md: front matter in YAML, and the instructions. Raises `unprocessable`. */
function readSkillHead(content: string, path: string): SkillHead {
  const refuse = (why: string): AppError =>
    new AppError('unprocessable', `The file ${path.slice(0, 300)} ${why}`)
  const whole = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const end = whole.indexOf('\n---', 3)
  if (!whole.startsWith('---\n') || end === -1 || end > HEAD_CHARACTERS_MAX) {
    throw refuse('has no front matter: it begins with ---, name, description and ---.')
  }
  const result = v.safeParse(skillHead, parseHead(whole.slice(4, end), refuse))
  if (!result.success) {
    const problems = result.issues.map((issue) => describeIssue(issue, 'front matter'))
    throw refuse(`is not a skill: ${problems.join('; ')}.`)
  }
  const text = whole.slice(whole.indexOf('\n', end + 1) + 1).trim()
  if (text === '' || whole.indexOf('\n', end + 1) === -1) throw refuse('has no instructions.')
  return { ...result.output, text }
}

function parseHead(yaml: string, refuse: (why: string) => AppError): unknown {
  try {
    return parseYaml(yaml)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    throw refuse(`has front matter that cannot be read. ${thrown.message}`)
  }
}
