import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = new URL('../..', import.meta.url).pathname

/** The documents for people, by their path from the root. */
export const DOCUMENTS: readonly string[] = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`),
  'services/collector/README.md',
  'test/bench/README.md',
  'test/cluster/README.md',
]

export const readDocument = (path: string): string => readFileSync(join(root, path), 'utf8')

interface Block {
  readonly document: string
  readonly language: string
  readonly code: string
}

/** The fenced blocks of a document, without the indentation of a list. */
export function blocksOf(document: string): Block[] {
  const fences = readDocument(document).matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm)
  return [...fences].map(([, indent = '', language = '', code = '']) => ({
    document,
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}

/** All blocks for a shell. */
export const SHELL_BLOCKS: readonly Block[] = DOCUMENTS.flatMap(blocksOf).filter(({ language }) =>
  ['sh', 'bash'].includes(language),
)

/** Runs on the data of `npm start`: a test does so, on data of its own. */
export const isWalk = ({ code }: Block): boolean => code.startsWith('. .data/')

/** Why a walk is not run as pasted. */
export function whyNotRun({ code }: Block): string | undefined {
  if (/^(twine|pip) /m.test(code))
    return 'test/services/web/intake/tools-index/pip.test.ts runs both'
  if (code.includes('/resume/')) return 'test/services/web/api/automation/resume.test.ts does it'
  return undefined
}

/** The cells of the table under a heading row, without their backticks. */
export function tableOf(document: string, header: string): string[][] {
  const lines = readDocument(document).split('\n')
  const start = lines.indexOf(header)
  if (start < 0) throw new Error(`${document} has no table ${header}`)
  const rest = lines.slice(start + 2)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  return rest.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
}
