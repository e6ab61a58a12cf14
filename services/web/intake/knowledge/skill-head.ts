import * as v from 'valibot'
import { parseYaml } from '../../../platform/projects/crewai/yaml-file.ts'
import { describeIssue } from '../../../shared/describe-issue.ts'
import { AppError } from '../../../shared/errors.ts'

/** The file that makes a folder a skill. */
export const SKILL_FILE = 'SKILL.md'

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
export function readSkillHead(content: string, path: string): SkillHead {
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
