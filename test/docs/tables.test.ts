import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROVIDER_NAMES, providerOf } from '../../services/platform/connections/llm-providers.ts'
import { RUN_ERRORS } from '../../services/platform/runs/run-errors.ts'
import { usage } from '../../services/tasks/start.ts'
import { ROUTES } from '../../services/web/api/automation/routes.ts'
import { describeRoutes } from '../../services/web/api/openapi/describe-routes.ts'
import { readDocument, root, tableOf } from './documents.ts'

const code = (text: string): string => `\`${text}\``

describe('the tables of the manual', () => {
  it('list every task with its arguments, in the order of --help', () => {
    const tasks = [...usage().matchAll(/^ {2}(\S+) +(?:([A-Z[][^:]*):)?/gm)].map(
      ([, name = '', args = '']) => [code(name), args === '' ? '' : code(args)],
    )
    const rows = tableOf('docs/reference.md', '| Task | Arguments | What it does |')
    expect(rows.map(([name, args]) => [name, args])).toEqual(tasks)
  })

  it('list every LLM provider with its variables and its address', () => {
    const providers = PROVIDER_NAMES.map((name) => {
      const { requires, url } = providerOf(name)
      const groups = requires.map((group) => group.map(code).join(' or '))
      return [code(name), groups.join('; '), url === undefined ? '' : code(new URL(url).host)]
    })
    expect(tableOf('docs/reference.md', '| Provider | Variables | Address |')).toEqual(providers)
  })

  it('name every code that a diagnostic report may have, and no other', () => {
    const text = readDocument('docs/troubleshoot.md')
    const codes = failureCodes()
    expect(codes.length).toBeGreaterThan(20)
    const untold = codes.filter((each) => !text.includes(code(each)))
    expect(untold, 'Write them into the table of docs/troubleshoot.md.').toEqual([])
    const rows = tableOf(
      'docs/troubleshoot.md',
      '| Component | It is `ok` when | `details.code` when it fails |',
    )
    const named = rows.flatMap(([, , cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, each = '']) => each),
    )
    expect(named.filter((each) => !codes.includes(each))).toEqual([])
  })

  it('say of every code of a failed run what happened and what to do, as the console does', () => {
    const rows = Object.entries(RUN_ERRORS).map(([word, { meaning, remedy }]) => [
      code(word),
      meaning,
      remedy,
    ])
    expect(tableOf('docs/run-errors.md', '| Code | What happened | What to do |')).toEqual(rows)
  })

  it('explain every answer of the automation API', () => {
    const answers = tableOf('docs/call.md', '| Answer | Meaning | What to do |').map(
      ([status]) => status,
    )
    const routes = ROUTES.map((route) => ({ ...route, handler: route }))
    const paths = JSON.stringify(describeRoutes(routes))
    const documented = new Set([...paths.matchAll(/"([2-5]\d\d)":/g)].map(([, status]) => status))
    documented.delete('200')
    expect(documented.size).toBeGreaterThan(5)
    expect([...documented].filter((status) => !answers.includes(status))).toEqual([])
  })
})

/** The words in the declarations of codes with their remedies. */
function failureCodes(): string[] {
  const folder = join(root, 'services/web/diagnostics')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  return sources.flatMap((source) =>
    [...source.matchAll(/(?:\bREMEDIATION = |\bdeclareCodes\()\{([\s\S]*?)\}(?:\)| as const)/g)]
      .flatMap(([, body = '']) => [...body.matchAll(/(?:^|,)\s*([a-z]\w*):\s/gm)])
      .map(([, word = '']) => word),
  )
}
