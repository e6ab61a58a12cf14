import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  PREFLIGHT_CODES,
  PREFLIGHT_WARNINGS,
} from '../../../../services/doctor/preflight/result.ts'
import { CHECKS, COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { CLUSTER_CODES } from '../../../../services/web/diagnostics/kubernetes/deployments.ts'
import { DATABASE_CODES } from '../../../../services/web/diagnostics/database-failure.ts'
import { RUN_CODES } from '../../../../services/web/diagnostics/run-codes.ts'

const PREFLIGHT = { ...PREFLIGHT_CODES, ...PREFLIGHT_WARNINGS }
const root = new URL('../../../../', import.meta.url)
const documents = [
  'README.md',
  ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((name) => readFileSync(new URL(name, root), 'utf8'))

/** The texts between backticks. */
function words(text = ''): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word)
}

/** The rows of the table below a line that holds a text, as cells. */
function rowsBelow(heading: string): string[][] {
  const [text = ''] = documents.filter((each) => each.includes(heading))
  const [, ...lines] = text.slice(text.indexOf(heading)).split('\n')
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(1, end).map((line) => line.split('|').slice(1, -1))
}

/** All words for programs in the document that explains the codes. */
const explained = new Set(
  documents
    .filter((each) => each.includes('| `details.code` when it fails |'))
    .flatMap((text) => words(text)),
)

const ROWS = 'Write what the check verifies, and its codes, into the table of docs/troubleshoot.md.'
const SECTIONS = 'Write a section with cause and remedy into docs/failure-codes.md.'
const COMPONENTS = 'Write the component into the row of section 2.1 of docs/contract.md.'
const PASSES = 'Write what passes into the table of docs/contract.md.'

describe('the documents', () => {
  const failures = new Map(
    rowsBelow('| `details.code` when it fails |').map(([name, , codes = '']) => [
      words(name).join(),
      [
        ...words(codes),
        ...(codes.includes("one of the cluster's") ? Object.keys(CLUSTER_CODES) : []),
      ],
    ]),
  )

  it('have a row for each check', () => {
    expect([...failures.keys()], ROWS).toEqual(COMPONENT_NAMES)
  })

  it.each(COMPONENT_NAMES)('name the codes with which %s fails', (name) => {
    expect(failures.get(name), ROWS).toEqual(Object.keys(CHECKS[name].failures))
  })

  it.each(COMPONENT_NAMES)('name the warnings of %s', (name) => {
    const codes = Object.keys(CHECKS[name].warnings ?? {})
    expect(
      codes.filter((code) => !explained.has(code)),
      ROWS,
    ).toEqual([])
  })

  it('name the codes that any check may fail with', () => {
    const codes = Object.keys({ ...CLUSTER_CODES, ...RUN_CODES })
    expect(codes.filter((code) => !explained.has(code))).toEqual([])
  })

  it('have a section with cause and remedy for each code, and for no other', () => {
    const [page = ''] = documents.filter((each) => each.startsWith('# Failure codes'))
    const [, ...sections] = page.split(/^### /m)
    const complete = sections.filter((text) => /\*\*Cause:\*\*[^]*\*\*Remedy:\*\*/.test(text))
    const codes = COMPONENT_NAMES.flatMap((name) =>
      Object.keys({ ...CHECKS[name].failures, ...CHECKS[name].warnings }),
    )
    const explainedCodes = complete.map((text) => text.split('\n', 1).join('')).toSorted()
    expect(explainedCodes, SECTIONS).toEqual(
      [
        ...new Set([...codes, ...Object.keys({ ...DATABASE_CODES, ...RUN_CODES, ...PREFLIGHT })]),
      ].toSorted(),
    )
  })

  it('list in the contract the components of the report, in its order (SPEC 2.1)', () => {
    const [line = ''] = documents.flatMap((text) => text.match(/^\| `components` \|.*/m) ?? [])
    expect(words(line).slice(1), COMPONENTS).toEqual(COMPONENT_NAMES)
  })

  it('list in the contract what passes', () => {
    const rows = rowsBelow('| Component | It verifies | Names in `checks` |')
    const passes = rows.map(([name, , checks]) => [words(name).join(), words(checks)])
    const expected = COMPONENT_NAMES.map((name) => [name, Object.keys(CHECKS[name].passes ?? {})])
    // The contract does not name what `tools` passes.
    expect(
      passes.filter(([name]) => name !== 'tools'),
      PASSES,
    ).toEqual(expected.filter(([name]) => name !== 'tools'))
  })
})
