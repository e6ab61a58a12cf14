import { isObject } from '../../../shared/is-object.ts'
import { isPython, readList } from './fields.ts'
import type { Field } from './fields.ts'
import { readProjectText } from './project-files.ts'
import type { ProjectFiles } from './project-files.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'

/** The knowledge of a definition, by name. */
type ImportedKnowledge = Map<string, { readonly text: string }>

/** Where the texts of a project come from, and go to. */
export interface KnowledgeReader {
  readonly files: ProjectFiles
  /** The folder of the project, with a / at its end. */
  readonly root: string
  readonly report: Report
  readonly knowledge: ImportedKnowledge
  /** The files that were read. */
  readonly read: Set<string>
}

const NOT_TEXT =
  'Only texts are knowledge: source_type string with content, or text_file with file_paths. ' +
  'Convert it to text.'

/** Reads the knowledge that an agent or a crew names, and returns the names that it got. */
export function readKnowledge(field: Field | undefined, reader: KnowledgeReader): string[] {
  const names = (readList(field, reader.report) ?? []).flatMap((each) => readSource(each, reader))
  return [...new Set(names)]
}

function readSource(field: Field, reader: KnowledgeReader): string[] {
  const { value } = field
  const { report } = reader
  if (isPython(value)) {
    report.leaveOut(field, `${PYTHON} ${NOT_TEXT}`)
    return []
  }
  const type = isObject(value) ? value['source_type'] : undefined
  if (!isObject(value) || (type !== 'string' && type !== 'text_file')) {
    report.leaveOut(field, NOT_TEXT)
    return []
  }
  if (type === 'string') {
    if (typeof value['content'] === 'string') return add('text', value['content'], reader)
    report.refuse(field, 'This has no text for content.')
    return []
  }
  const given = value['file_paths'] ?? value['file_path']
  const paths: readonly unknown[] = Array.isArray(given) ? given : [given]
  return paths.flatMap((path) => readFile(field, path, reader))
}

/** Paths begin at the folder `knowledge`. */
function readFile(field: Field, path: unknown, reader: KnowledgeReader): string[] {
  const { files, root, report, read } = reader
  const wanted = String(path).replace(/^(\.\/)?(knowledge\/)?/, '')
  const file = `${root}knowledge/${wanted}`
  if (typeof path !== 'string' || !files.has(file)) {
    report.refuse(field, `There is no file knowledge/${wanted.slice(0, 100)}.`)
    return []
  }
  read.add(file)
  const text = readProjectText(files, file, report)
  return text === undefined ? [] : add(wanted, text, reader)
}

function add(title: string, text: string, { knowledge }: KnowledgeReader): string[] {
  for (const [name, known] of knowledge) if (known.text === text) return [name]
  const base = title
    .replace(/\.\w{1,8}$/, '')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .slice(0, 50)
  const start = /^[A-Za-z]/.test(base) ? base : `text_${base}`
  let name = start
  for (let number = 2; knowledge.has(name); number += 1) name = `${start}_${number}`
  knowledge.set(name, { text })
  return [name]
}
